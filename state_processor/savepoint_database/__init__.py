"""A savepoint as a database: its tables, their rows, and answers about them; knows no Spark."""
