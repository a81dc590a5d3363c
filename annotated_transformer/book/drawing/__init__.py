"""What draws: the house style, shapes that chapters share, and one file for each chapter."""
