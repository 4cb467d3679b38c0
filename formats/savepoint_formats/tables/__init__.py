"""Tables: which states they show, and how they are read as Arrow batches."""
