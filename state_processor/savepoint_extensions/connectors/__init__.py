"""State of connectors that may keep a job from starting: its contents, and savepoints without it."""
