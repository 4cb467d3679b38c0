"""Changes of state from one snapshot of a job to a later one, as a table and as a stream."""
