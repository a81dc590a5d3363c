"""What only the chapter "From text to batches" uses."""
