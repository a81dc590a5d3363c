"""Builds the site from the executed chapters; `extension` is its only Sphinx extension."""
