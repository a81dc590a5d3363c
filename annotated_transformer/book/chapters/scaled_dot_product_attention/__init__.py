"""What only the chapter on scaled dot product attention uses."""
