"""What only the chapter on looking inside uses."""
