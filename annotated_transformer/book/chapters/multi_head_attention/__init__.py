"""What only the chapter "Multi-head attention" uses."""
