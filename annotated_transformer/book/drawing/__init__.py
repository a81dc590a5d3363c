"""What chapters share for drawing: the house style, boxes, matrices, the map of the model."""
