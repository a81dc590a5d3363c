"""What only the chapter on decoder uses."""
