"""The browser of a savepoint on the terminal. Textual is in the extra ``browse``."""
