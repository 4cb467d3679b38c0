"""Java's hash codes of keys, value by value and column by column."""
