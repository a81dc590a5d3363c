"""The explorer: a shipped model that translates in the page, in plain JavaScript."""
