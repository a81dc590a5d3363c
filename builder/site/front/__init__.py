"""The front of the book: cover, chapter cards, sidebar, glossary, previews; `cover_page` registers it."""
