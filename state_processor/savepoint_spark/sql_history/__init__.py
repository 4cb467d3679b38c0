"""State of SQL operators, made of the rows that they would have read."""
