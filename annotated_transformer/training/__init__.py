"""From tensors to weights: section 5 of the paper."""
