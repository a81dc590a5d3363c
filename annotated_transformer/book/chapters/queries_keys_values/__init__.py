"""What only the chapter on queries keys values uses."""
