"""What only the chapter "Translation" uses."""
