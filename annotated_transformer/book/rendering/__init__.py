"""How Sphinx makes pages of the chapters; `sphinx_extension` registers it all."""
