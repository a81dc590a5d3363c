"""What only the chapter on feed forward uses."""
