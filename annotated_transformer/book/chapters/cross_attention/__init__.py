"""What only the chapter "Cross-attention" uses."""
