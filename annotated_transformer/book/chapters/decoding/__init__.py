"""What only the chapter on decoding uses."""
