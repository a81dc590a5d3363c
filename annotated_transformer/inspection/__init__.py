"""Inspection of models: attention maps, ablation, probes, residual stream, distance, word pairs, health."""
