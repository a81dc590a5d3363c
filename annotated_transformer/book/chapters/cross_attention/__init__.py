"""What only the chapter on cross attention uses."""
