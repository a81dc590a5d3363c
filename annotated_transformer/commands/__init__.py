"""The commands of the command line, one file each; here training and decoding meet."""
