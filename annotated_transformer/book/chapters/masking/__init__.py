"""What only the chapter "Masking" uses."""
