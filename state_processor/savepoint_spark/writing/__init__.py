"""New state on its way from rows to the files of a savepoint."""
