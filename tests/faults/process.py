"""The process of ``driver.py``, as rounds see it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import astuple
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from support.spark_processes import spark_home

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from faults.ways import Place

# What answers of the driver tell.
_ANSWERS = {"ready", "pid", "ended", "idle"}

_PATIENCE = 300.0


class Driver:
    """A driver of Spark, and what it has told.

    Args:
        master: As Spark has it; empty for a driver without Spark.
        folder: Where Spark leaves its files.
        more_settings: Settings of Spark beside the usual ones.
        variables: Of its environment, and of all that it starts.
    """

    def __init__(
        self,
        master: str,
        folder: Path,
        more_settings: Mapping[str, str] = MappingProxyType({}),
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        settings = {
            "spark__local__dir": str(folder / "spark"),
            "spark__sql__shuffle__partitions": "2",
            "spark__speculation": "true",
            "spark__executor__memory": "1g",
            "spark__executor__instances": "2",
            "spark__deploy__maxExecutorRetries": "-1",
            # Jobs are small: neither Spark nor Java compiles more than it must.
            "spark__sql__codegen__wholeStage": "false",
            "spark__sql__codegen__factoryMode": "NO_CODEGEN",
            **more_settings,
        }
        command = [sys.executable, "-m", "faults.driver", master]
        command += [f"{name}={value}" for name, value in settings.items()]
        environment = {**os.environ, **variables, "PYTHONPATH": os.pathsep.join(sys.path)}
        environment.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        if master.startswith("local-cluster"):
            environment["SPARK_HOME"] = str(spark_home(folder))
        with (folder / "driver.log").open("a") as log:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self.pid = self._process.pid
        self._answers: deque[dict[str, Any]] = deque()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        try:
            self.answer()
        except TimeoutError:
            self.kill()
            raise

    def kill(self) -> None:
        """Kills it, and all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._listener.join()
        with suppress(BrokenPipeError), self._process:
            pass

    def order(self, way: str, mode: str, *places: Place) -> None:
        """Has it write, to all places at once."""
        pipe = self._process.stdin
        assert pipe is not None
        order = {"way": way, "mode": mode, "places": [astuple(place) for place in places]}
        pipe.write(json.dumps(order) + "\n")
        pipe.flush()

    @property
    def has_answered(self) -> bool:
        """Whether there is an answer that was not asked for yet."""
        return bool(self._answers)

    @property
    def has_ended(self) -> bool:
        """Whether all writes have ended, and nobody has asked for it yet."""
        return any("idle" in answer for answer in list(self._answers))

    def answer(self) -> dict[str, Any]:
        """Its next answer.

        Raises:
            TimeoutError: There is none for minutes.
        """
        deadline = time.monotonic() + _PATIENCE
        while not self._answers:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no answer of the driver in {_PATIENCE} s")
            time.sleep(0.002)
        return self._answers.popleft()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            # Spark itself prints lines, too, and some of them are JSON.
            answer = json.loads(line) if line.startswith("{") else {}
            if answer.keys() & _ANSWERS:
                self._answers.append(answer)
            else:
                print(f"the driver prints: {line.rstrip()}", file=sys.stderr)
