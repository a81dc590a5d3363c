"""*Build it yourself*: the steps of a reader's own file, and the book's."""
