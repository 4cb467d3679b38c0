"""Object graphs of Kryo: from its bytes to values, structs and JSON."""
