"""What the cells of every chapter call; what only one chapter uses is in its room, in `book.chapters`."""

from annotated_transformer.extras import extra

with extra("notebooks", "the code of the chapters", "IPython", "matplotlib"):
    from annotated_transformer.book.cells.check import check, check_close
    from annotated_transformer.book.cells.claim import claim
    from annotated_transformer.book.cells.drag import DragQuery, DragScores, show_drag
    from annotated_transformer.book.cells.explore import explore
    from annotated_transformer.book.cells.messages import run_messages
    from annotated_transformer.book.cells.slider import show_slider
    from annotated_transformer.book.cells.source import show_source
    from annotated_transformer.book.cells.table import show_table
    from annotated_transformer.book.drawing.figures import show_figure
    from annotated_transformer.book.output import say
    from annotated_transformer.book.toy.fitting import fit

__all__ = [
    "DragQuery",
    "DragScores",
    "check",
    "check_close",
    "claim",
    "explore",
    "fit",
    "run_messages",
    "say",
    "show_drag",
    "show_figure",
    "show_slider",
    "show_source",
    "show_table",
]
