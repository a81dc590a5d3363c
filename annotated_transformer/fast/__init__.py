"""Accelerated versions of modules and functions, each tested for equality with the plain one."""
