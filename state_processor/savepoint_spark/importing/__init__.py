"""Files of rows that become a savepoint, as a description says."""
