"""A stored savepoint or checkpoint: operators, tables, descriptions."""
