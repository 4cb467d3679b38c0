"""Import of files of rows into a savepoint, as a description says."""
