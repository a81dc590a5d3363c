"""What only the chapter on multi head attention uses."""
