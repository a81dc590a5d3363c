"""Evaluation of translations by BLEU."""
