"""What changed since 2017, each part a small class with the call of the one that it replaces."""
