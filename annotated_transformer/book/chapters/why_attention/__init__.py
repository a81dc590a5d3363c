"""What only the chapter on why attention uses."""
