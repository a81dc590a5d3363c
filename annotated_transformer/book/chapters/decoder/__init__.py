"""What only the chapter "The decoder" uses."""
