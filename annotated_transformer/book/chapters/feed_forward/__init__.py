"""What only the chapter "The feed-forward network" uses."""
