"""What only the chapter "Looking inside" uses."""
