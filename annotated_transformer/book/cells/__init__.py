"""What the chapters' cells call: claims, source listings, sliders, interactive figures, commands."""
