"""What only the chapter on positional encoding uses."""
