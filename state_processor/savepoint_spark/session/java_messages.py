"""What the Java of a session says, as far as somebody can do something about it.

Spark's launcher asks for a module that Java calls an incubator, and each start warns of that. A
Python worker whose rows are no longer wanted, as behind a LIMIT, ends with a traceback, and one of a
stream tells each step that it takes. All these are left out. What Java says of a start that fails is the error.
"""

from __future__ import annotations

import os
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# What Java says of itself, and Spark's workers of streams of each step that they take.
_NOTICES = (
    b"WARNING: ",
    b"Starting Streaming TransformWithState",
    b"Streaming TransformWithState",
)
_TRACEBACK = b"Traceback (most recent call last):"
_UNWANTED = b"BrokenPipeError: "
_MOST_LINES = 50


class JavaMessages(Thread):
    """Reads what Java says, keeps it while Java starts, and passes it on from then on.

    Attributes:
        end: Where Java writes to.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._beginning, self.end = os.pipe()
        self._is_started = False
        self._said: list[bytes] = []
        self.start()

    def run(self) -> None:
        """Reads to the end of Java."""
        with os.fdopen(self._beginning, "rb") as lines:
            for text in worth_showing(lines):
                if self._is_started:
                    _show(text)
                elif len(self._said) < _MOST_LINES:
                    self._said.append(text)

    def pass_on(self) -> None:
        """Shows what was kept, and all that comes."""
        os.close(self.end)
        self._is_started = True
        for text in self._said:
            _show(text)

    def reason(self) -> str:
        """The first line that was said, once Java has ended."""
        os.close(self.end)
        self.join()
        return next(
            (text.decode(errors="replace").strip() for text in self._said if text.strip()),
            "it said nothing",
        )


def worth_showing(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines that say something to the user; a traceback is one text."""
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
