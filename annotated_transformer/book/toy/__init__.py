"""Toy data and toy models that several chapters share."""
