"""What only the chapter on training uses."""
