"""What only the chapter "Why attention" uses."""
