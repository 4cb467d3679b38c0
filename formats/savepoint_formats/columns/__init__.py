"""Values and columns: what the bytes of a layout mean in Python and in Arrow."""
