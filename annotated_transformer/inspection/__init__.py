"""What a trained model does: attention maps, entropies, ablation, collapse."""
