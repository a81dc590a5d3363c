"""What only the chapter "Scaled dot-product attention" uses."""
