"""Tables of databases that an export writes: DuckDB, Delta, Iceberg."""
