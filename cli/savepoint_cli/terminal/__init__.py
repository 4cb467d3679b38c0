"""Shows answers on a terminal or in a pipe: cells, tables, progress."""
