"""From strings to padded tensors of ids: the data of section 5.1 of the paper."""
