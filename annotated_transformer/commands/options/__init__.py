"""Options of several commands, and what is made of them. Importing these modules imports no PyTorch."""
