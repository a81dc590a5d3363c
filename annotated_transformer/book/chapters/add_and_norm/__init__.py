"""What only the chapter on add and norm uses."""
