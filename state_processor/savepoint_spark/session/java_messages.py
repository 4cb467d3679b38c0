"""Shows messages of a session's Java that a user can act on.

Left out are Spark's warning of an incubator module at each start, tracebacks of Python workers
whose rows are no longer wanted (LIMIT), and the steps of streams. If Java fails to start, its first
message becomes the error.
"""

from __future__ import annotations

import os
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Java's warnings about itself, and the steps of Spark's workers of streams.
_NOTICES = (b"WARNING: ", b"Starting Streaming TransformWithState", b"Streaming TransformWithState")
_TRACEBACK = b"Traceback (most recent call last):"
_UNWANTED = b"BrokenPipeError: "
_MOST_LINES = 50


class JavaMessages(Thread):
    """Reads what Java writes to ``end``, keeps it while Java starts, and then passes it on."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._beginning, self.end = os.pipe()
        self._is_started = False
        self._said: list[bytes] = []
        self.start()

    def run(self) -> None:
        with os.fdopen(self._beginning, "rb") as lines:
            for text in worth_showing(lines):
                if self._is_started:
                    _show(text)
                elif len(self._said) < _MOST_LINES:
                    self._said.append(text)

    def pass_on(self) -> None:
        """Shows all messages so far, and all that come."""
        os.close(self.end)
        self._is_started = True
        for text in self._said:
            _show(text)

    def reason(self) -> str:
        """The first message, once Java has ended."""
        os.close(self.end)
        self.join()
        return next(
            (text.decode(errors="replace").strip() for text in self._said if text.strip()),
            "it said nothing",
        )


def worth_showing(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines for the user; a traceback is one text."""
    traceback: list[bytes] = []
    is_notice = False
    for line in lines:
        if traceback and line.startswith(b" "):
            traceback.append(line)
            continue
        of_daemon = all(b"daemon.py" in frame for frame in traceback[1:] if b"File " in frame)
        is_unwanted = bool(traceback) and of_daemon and line.startswith(_UNWANTED)
        if traceback and not is_unwanted:
            yield b"".join(traceback)
        traceback = [line] if line.startswith(_TRACEBACK) else []
        # An empty line may belong to a notice.
        is_notice = line.startswith(_NOTICES) or (is_notice and not line.strip())
        if not (traceback or is_unwanted or is_notice):
            yield line


def _show(text: bytes) -> None:
    with suppress(OSError):
        os.write(2, text)
