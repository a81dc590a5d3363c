"""Everything that is written to disk: model folders, run directories, atomic files."""
