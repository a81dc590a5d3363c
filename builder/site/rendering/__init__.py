"""How Sphinx turns the chapters into pages; `extension` registers it all."""
