"""What only the chapter on encoder uses."""
