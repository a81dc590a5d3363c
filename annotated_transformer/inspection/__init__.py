"""Inspection of models: attention maps, ablation, probes, hidden units, residual stream, distance, health."""
