"""Inspection of models: attention maps, entropies and ablation of heads, and numbers that show a collapse."""
