"""How tables are read: planned from metadata, then split by split as Arrow batches."""
