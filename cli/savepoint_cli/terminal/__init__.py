"""What a terminal, or a pipe, is shown: cells, tables, progress."""
