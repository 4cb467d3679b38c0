"""The savepoint as users meet it: reading it, and writing another one."""
