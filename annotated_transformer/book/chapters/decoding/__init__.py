"""What only the chapter "Decoding" uses."""
