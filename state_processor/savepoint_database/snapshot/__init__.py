"""A savepoint or checkpoint as it lies there: operators, tables, what it tells of itself."""
