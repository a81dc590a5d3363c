"""What only the chapter "Add & Norm" uses."""
