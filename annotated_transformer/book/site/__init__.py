"""What makes the site out of the executed chapters; `extension` is its one Sphinx extension."""
