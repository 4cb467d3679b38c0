"""The general path: one value of any layout, and its Arrow type."""
