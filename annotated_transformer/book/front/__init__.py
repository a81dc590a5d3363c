"""The front of the book: cover, chapter cards, sidebar, glossary, previews; `sphinx_cover` registers it."""
