"""A Python process that runs programs one after the other, so that Java starts but once for them."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Beside what a program prints, the line with the mark says how it ended.
_LOOP = """
import json, sys, traceback
for line in sys.stdin:
    mark, code = json.loads(line)
    error = ""
    try:
        exec(compile(code, "<program>", "exec"), {"__name__": "__main__"})
    except BaseException:
        error = traceback.format_exc()
    print("\\n" + json.dumps([mark, error]), flush=True)
"""


class Interpreter:
    """The process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @classmethod
    @contextmanager
    def running(cls, folder: Path) -> Iterator[Interpreter]:
        """A process in a folder, until the context is left."""
        command, pipe = [sys.executable, "-c", _LOOP], subprocess.PIPE
        with subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, text=True) as process:
            yield cls(process)

    def run(self, code: str) -> str:
        """Runs a program; returns the traceback of the error that ended it, if one did."""
        wanted, output = self._process.stdin, self._process.stdout
        assert wanted is not None
        assert output is not None
        mark = uuid4().hex
        wanted.write(json.dumps([mark, code]) + "\n")
        wanted.flush()
        printed = []
        for line in output:
            if mark in line:
                return str(json.loads(line)[1])
            printed.append(line)
        raise RuntimeError(f"the process has ended: {''.join(printed)}")
