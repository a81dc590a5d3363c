"""How Sphinx turns the chapters into pages; `sphinx_extension` registers it all."""
