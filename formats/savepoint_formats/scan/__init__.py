"""Reads tables: a plan from metadata, then Arrow batches split by split."""
