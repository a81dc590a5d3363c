"""A toy language with word alignments, and toy tasks with known answers."""
