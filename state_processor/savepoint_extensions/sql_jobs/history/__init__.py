"""State of SQL operators from the rows that they would have read."""
