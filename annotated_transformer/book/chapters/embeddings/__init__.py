"""What only the chapter on embeddings uses."""
