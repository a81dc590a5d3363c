"""What only the chapter on text to batches uses."""
