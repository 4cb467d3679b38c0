"""Changes of a savepoint as a file: read, checked, applied, and printed by each command that changes."""
