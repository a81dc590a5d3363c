"""What only the chapter "Self-attention" uses."""
