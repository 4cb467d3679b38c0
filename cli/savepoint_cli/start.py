"""The entry point of the program: reports Ctrl-C in one line, even while modules are imported."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import TYPE_CHECKING

from savepoint_cli import STOPPED, STOPPED_CODE

if TYPE_CHECKING:
    from types import FrameType

_IMPORT = "<frozen importlib._bootstrap>"

# Imports make many objects that stay: to look through them each 700 objects costs a tenth of a short command.
_YOUNG_OBJECTS = 20_000


def main() -> None:
    """Runs the command line."""
    gc.set_threshold(_YOUNG_OBJECTS)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    from savepoint_cli.main import main as run  # noqa: PLC0415  # it takes a while

    run()


def _stop(number: int, frame: FrameType | None) -> None:
    """Ends the program at once during an import, else raises ``KeyboardInterrupt``.

    Extensions in C++ that are being initialized abort at an exception, or lose it.
    """
    caller = frame
    while caller is not None:
        if caller.f_code.co_filename == _IMPORT:
            os.write(sys.stderr.fileno(), f"{STOPPED}\n".encode())
            os._exit(STOPPED_CODE)
        caller = caller.f_back
    signal.default_int_handler(number, frame)
