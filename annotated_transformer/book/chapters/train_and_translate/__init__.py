"""What only the guide uses."""
