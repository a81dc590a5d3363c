"""What only the chapter on masking uses."""
