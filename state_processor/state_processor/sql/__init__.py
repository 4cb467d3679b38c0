"""SQL over the tables of a savepoint without Spark: DuckDB asks, our scans answer in Arrow."""
