"""What only the chapter "Queries, keys and values" uses."""
