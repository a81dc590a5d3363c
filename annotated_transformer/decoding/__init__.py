"""From a trained model to translations: the inference part of section 6.1 of the paper."""
