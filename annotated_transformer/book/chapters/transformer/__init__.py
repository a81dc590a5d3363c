"""What only the chapter on transformer uses."""
