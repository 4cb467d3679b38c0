"""Types of state, descriptors, and their names in Spark and Python."""
