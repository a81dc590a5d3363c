"""What only the chapter "The encoder" uses."""
