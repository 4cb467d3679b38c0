"""New state out of the columns of DataFrames."""
