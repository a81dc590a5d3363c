"""The builder of the book: from the sources in `chapters/src` to readers' notebooks and to pages."""
