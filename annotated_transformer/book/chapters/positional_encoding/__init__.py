"""What only the chapter "Positional encoding" uses."""
