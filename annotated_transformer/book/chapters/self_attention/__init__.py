"""What only the chapter on self attention uses."""
