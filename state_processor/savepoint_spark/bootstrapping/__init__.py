"""State of new operators, out of the columns of DataFrames."""
