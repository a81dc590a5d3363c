"""What only the chapter "Cost and scale" uses."""
