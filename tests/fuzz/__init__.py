"""Damaged input for every reader, without end: ``python -m fuzz --help``, from ``tests``.

A target is a reader and inputs that are right. The loop damages an input, has it read, and holds
what came of it against the promises of ``promises``. What breaks one is shrunk and kept in a folder.
"""
