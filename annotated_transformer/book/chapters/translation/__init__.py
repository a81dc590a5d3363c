"""What only the chapter on translation uses."""
