"""What only the chapter "Embeddings" uses."""
