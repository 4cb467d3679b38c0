"""State as rows: the data source, and functions of users that read."""
