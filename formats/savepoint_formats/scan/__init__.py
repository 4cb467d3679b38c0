"""Reading tables: planned from metadata, read split by split as Arrow batches."""
