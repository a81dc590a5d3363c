"""The architecture (section 3 of the paper), one idea per file."""
