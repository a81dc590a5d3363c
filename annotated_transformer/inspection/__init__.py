"""Inspection of trained models: attention maps, entropies, ablation, collapse."""
