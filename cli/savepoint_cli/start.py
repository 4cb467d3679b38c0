"""The entry of the program: reports Ctrl-C by a line, even while the rest is imported."""

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
