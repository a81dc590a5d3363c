"""Helpers that only the book uses: its figures, its source listings, and its exercises' checks."""

from annotated_transformer.book.cells.claim import claim
from annotated_transformer.book.cells.explore import explore
from annotated_transformer.book.cells.slider import show_slider
from annotated_transformer.book.cells.source import show_source
from annotated_transformer.book.drawing.attention_map import draw_attention
from annotated_transformer.book.drawing.boxes import Box, draw_arrow, draw_box, draw_tensor
from annotated_transformer.book.drawing.curves import plot_curves, read_reports, read_schedule
from annotated_transformer.book.drawing.figures import new_canvas, new_figure, show_figure
from annotated_transformer.book.drawing.matrices import cell, column, draw_matrix, draw_operator, row
from annotated_transformer.book.page import Page, say

__all__ = [
    "Box",
    "Page",
    "cell",
    "claim",
    "column",
    "draw_arrow",
    "draw_attention",
    "draw_box",
    "draw_matrix",
    "draw_operator",
    "draw_tensor",
    "explore",
    "new_canvas",
    "new_figure",
    "plot_curves",
    "read_reports",
    "read_schedule",
    "row",
    "say",
    "show_figure",
    "show_slider",
    "show_source",
]
