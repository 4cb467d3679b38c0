"""Constants of enums: other names for them, and enums without them."""
