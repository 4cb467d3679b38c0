"""A command in a terminal that is none: what it shows, and what is typed."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

_PROGRAM = (
    "from savepoint_cli.terminal import progress; progress._PATIENCE_SECONDS = {};"
    " from savepoint_cli.main import main; main(prog_name='savepoint')"
)
_COMMANDS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]|\r")


@dataclass
class Terminal:
    """A pseudo-terminal in which ``savepoint`` runs with some arguments.

    Attributes:
        arguments: Those of the command.
        lines: How high it is.
        columns: How wide it is.
        environment: Variables besides those of the tests.
        patience_seconds: After how long the command says what takes so long.
        raw: What was shown.
    """

    arguments: tuple[str | Path, ...]
    lines: int = 40
    columns: int = 100
    environment: dict[str, str] = field(default_factory=dict)
    patience_seconds: float = 600
    raw: str = ""
    _seen: int = 0

    def __enter__(self) -> Self:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", self.lines, self.columns, 0, 0))
        unset = {"COLUMNS", "LINES", "NO_COLOR", "CI", "FORCE_COLOR"}
        inherited = {name: value for name, value in os.environ.items() if name not in unset}
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _PROGRAM.format(self.patience_seconds),
                *map(str, self.arguments),
            ],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={**inherited, "TERM": "xterm", **self.environment},
        )
        os.close(theirs)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    @property
    def text(self) -> str:
        """The shown text, without the commands to the terminal."""
        return _COMMANDS.sub("", self.raw)

    def type(self, text: str) -> None:
        """Types a text; a line end is the key Enter."""
        os.write(self._ours, text.replace("\n", "\r").encode())

    def wait_for(self, text: str, seconds: float = 120) -> str:
        """Waits until a text is shown, behind what was waited for before; gives all up to it."""
        start, end = self._seen, time.monotonic() + seconds
        while (place := self.text.find(text, start)) < 0:
            assert time.monotonic() < end, f"no {text!r} in {self.text[start:]!r}"
            assert self._read(), f"the end, without {text!r}: {self.text[start:]!r}"
        self._seen = place + len(text)
        return self.text[start : self._seen]

    def finish(self) -> int:
        """Waits for the end; gives the exit code."""
        while self._read():
            pass
        return self._process.wait(60)

    def _read(self) -> bool:
        if not select.select([self._ours], [], [], 1)[0]:
            return True
        try:
            data = os.read(self._ours, 1 << 16)
        except OSError:  # the other side is closed
            return False
        # What asks where the cursor is waits for an answer.
        if b"\x1b[6n" in data:
            os.write(self._ours, b"\x1b[1;1R")
        self.raw += data.decode(errors="replace")
        return bool(data)
