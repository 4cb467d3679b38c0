"""Where the program starts: Ctrl-C is told in a line from here on, while the rest is still imported."""

from __future__ import annotations

import sys

from savepoint_cli import STOPPED, STOPPED_CODE


def main() -> None:
    """Runs the command line."""
    try:
        from savepoint_cli.main import main as run  # noqa: PLC0415  # it takes a while
    except KeyboardInterrupt:
        print(STOPPED, file=sys.stderr)
        sys.exit(STOPPED_CODE)
    run()
