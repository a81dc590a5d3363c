"""The same results sooner: accelerated twins of plain modules, each tested for equality."""
