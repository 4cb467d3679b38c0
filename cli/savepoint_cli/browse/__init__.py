"""A browser of a savepoint on the terminal, on Textual, which is in the extra ``browse``.

Modules that know Textual are imported when it is asked for: ``command`` is not among them.
"""
