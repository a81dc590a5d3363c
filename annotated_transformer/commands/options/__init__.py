"""Options that several commands have. Nothing here imports PyTorch."""
