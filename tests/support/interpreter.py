"""A Python process that runs programs one after the other, so that Java starts but once for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from support.nightly import is_night

if TYPE_CHECKING:
    from collections.abc import Iterator

# For a few rows, Spark compiles code longer than it runs. At night it works as users have it.
_BY_DAY = """
spark.sql.codegen.wholeStage     false
spark.sql.codegen.factoryMode    NO_CODEGEN
spark.sql.shuffle.partitions     2
spark.sql.streaming.pollingDelay 100ms
"""

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
        with tempfile.TemporaryDirectory() as settings:
            Path(settings, "spark-defaults.conf").write_text("" if is_night() else _BY_DAY, "utf-8")
            own = {**os.environ, "SPARK_CONF_DIR": settings}
            with subprocess.Popen(
                command, cwd=folder, env=own, stdin=pipe, stdout=pipe, text=True
            ) as process:
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
