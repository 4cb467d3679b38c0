"""State of connectors that keeps a job from starting: what it is, and a savepoint without it."""
