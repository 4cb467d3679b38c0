"""Types of state, descriptors, and what Spark and Python call them."""
