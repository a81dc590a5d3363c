"""A toy language with word alignments, and toy tasks whose right answers are known."""
