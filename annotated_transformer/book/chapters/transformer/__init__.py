"""What only the chapter "The Transformer" uses."""
