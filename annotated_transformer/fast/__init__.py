"""Accelerated twins of plain modules, each tested against the module that it replaces."""
