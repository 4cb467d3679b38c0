"""State of SQL operators out of the rows that they would have read."""
