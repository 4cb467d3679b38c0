"""Keyed state in the files of RocksDB: its directory, its tables, their blocks."""
