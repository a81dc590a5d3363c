"""What only the chapter "Training" uses."""
