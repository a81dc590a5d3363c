"""What only chapter 22, on the changes since 2017, uses: its figures, exercises, and toy experiments."""
