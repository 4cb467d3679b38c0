"""Objects of Kryo in machine code: their graphs in columns or as JSON, and back."""
