"""How good translations are: BLEU."""
