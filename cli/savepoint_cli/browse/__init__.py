"""A browser of a savepoint on the terminal, on Textual, which is in the extra ``browse``."""
