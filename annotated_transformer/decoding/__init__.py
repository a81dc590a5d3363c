"""From weights back to strings: the inference part of section 6.1 of the paper."""
