"""The command ``savepoint``: thin words over ``state_processor``."""

STOPPED = "Stopped."
"""The line that tells of Ctrl-C."""

STOPPED_CODE = 130
"""The exit code of a command that Ctrl-C has stopped, as shells have it."""
