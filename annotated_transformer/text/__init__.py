"""From strings to padded id tensors: the data side of section 5.1 of the paper."""
