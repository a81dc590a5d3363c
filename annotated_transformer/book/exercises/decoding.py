"""Checks of the exercises of the chapter on decoding."""
