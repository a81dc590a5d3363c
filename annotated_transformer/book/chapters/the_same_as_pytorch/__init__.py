"""What only the chapter on comparing the model with PyTorch's uses."""
