"""Helpers that only the book uses: its figures, its source listings, and its exercises' checks."""

from annotated_transformer.book.attention_map import draw_attention
from annotated_transformer.book.claim import claim
from annotated_transformer.book.curves import plot_curves, read_reports, read_schedule
from annotated_transformer.book.drawing import Box, draw_arrow, draw_box, draw_tensor
from annotated_transformer.book.explore import explore
from annotated_transformer.book.figures import new_canvas, new_figure, show_figure
from annotated_transformer.book.matrices import cell, column, draw_matrix, draw_operator, row
from annotated_transformer.book.page import Page, say
from annotated_transformer.book.slider import show_slider
from annotated_transformer.book.source import show_source
from annotated_transformer.book.terminal import run_command

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
    "run_command",
    "say",
    "show_figure",
    "show_slider",
    "show_source",
]
