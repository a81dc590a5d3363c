"""What only the chapter on cost and scale uses."""
