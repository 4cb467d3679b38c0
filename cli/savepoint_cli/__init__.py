"""The command ``savepoint``: thin words over ``state_processor``."""

STOPPED = "Stopped."
"""The line that reports Ctrl-C."""

STOPPED_CODE = 130
"""The exit code after Ctrl-C, as in shells."""
