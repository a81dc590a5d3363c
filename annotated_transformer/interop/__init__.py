"""Models of other libraries, and our models for them: conversion of weights, in both directions."""

from annotated_transformer.lazy_names import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
