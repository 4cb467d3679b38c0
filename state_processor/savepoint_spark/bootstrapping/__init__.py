"""State of new operators, from the columns of DataFrames."""
