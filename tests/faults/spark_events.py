"""Spark's own log of what came of the tasks of each write, read while Spark appends to it."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_LOST = frozenset({"ExecutorLostFailure", "FetchFailed", "Resubmitted"})
_PATIENCE = 10.0
_EVENTS = tuple(b'{"Event":"SparkListener' + kind for kind in (b"Executor", b"Job", b"Task"))

LOST = "lost"
"""A task died with its executor, or its results did."""

OVERTAKING = "overtaking"
"""A second attempt of a task began while the first one ran."""

OVERTAKEN = "overtaken"
"""An attempt ended because the other one had succeeded."""


class SparkEvents:
    """Counts what happened to the tasks of groups of jobs.

    Args:
        folder: Where Spark writes the log of its events.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._position, self._rest = folder, 0, b""
        self._groups: dict[int, str] = {}
        self._open: dict[int, str] = {}
        self._times: dict[str, list[int]] = defaultdict(list)
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)
        self._executors: set[str] = set()
        self._at_work: dict[str, set[str]] = defaultdict(set)
        folder.mkdir(exist_ok=True)

    def settings(self) -> dict[str, str]:
        """Settings by which Spark writes the log."""
        return {
            "spark__eventLog__enabled": "true",
            "spark__eventLog__dir": self._folder.as_uri(),
            "spark__eventLog__compress": "false",
            "spark__eventLog__rolling__enabled": "false",
        }

    def count(self, group: str, what: str) -> int:
        """How often something has happened to tasks of a group so far."""
        self._read()
        return self._counts[group][what]

    def has_begun(self, *groups: str) -> bool:
        """Whether a job of these groups has begun."""
        self._read()
        return not self._times.keys().isdisjoint(groups)

    def has_task(self, executor: str, *groups: str) -> bool:
        """Whether an executor was given a task of these groups."""
        self._read()
        return any(executor in self._at_work[group] for group in groups)

    def has_executor(self, executor: str) -> bool:
        """Whether Spark gives tasks to an executor."""
        self._read()
        return executor in self._executors

    def seconds(self, *groups: str) -> float:
        """Seconds from the first job of groups to the end of their last task."""
        self._read()
        times = [moment for group in groups for moment in self._times[group]]
        return (max(times, default=0) - min(times, default=0)) / 1000

    def settle(self, *groups: str) -> None:
        """Waits until the ends of all jobs of these groups are in the log."""
        deadline = time.monotonic() + _PATIENCE
        self._read()
        while {*self._open.values()} & {*groups} and time.monotonic() < deadline:
            time.sleep(0.05)
            self._read()

    def _read(self) -> None:
        for path in self._folder.iterdir():
            with path.open("rb") as file:
                file.seek(self._position)
                data = self._rest + file.read()
                self._position = file.tell()
            *lines, self._rest = data.split(b"\n")
            for line in lines:
                # Most events are long, and of no interest here.
                if line.startswith(_EVENTS):
                    self._take(json.loads(line))

    def _take(self, event: dict[str, Any]) -> None:
        match event["Event"]:
            case "SparkListenerExecutorAdded":
                self._executors.add(event["Executor ID"])
            case "SparkListenerExecutorRemoved":
                self._executors.discard(event["Executor ID"])
            case "SparkListenerJobStart":
                group = event["Properties"].get("spark.jobGroup.id", "")
                self._open[event["Job ID"]] = group
                self._times[group].append(event["Submission Time"])
                self._groups |= dict.fromkeys(event["Stage IDs"], group)
            case "SparkListenerJobEnd":
                self._open.pop(event["Job ID"], None)
            case "SparkListenerTaskStart":
                group, task = self._groups[event["Stage ID"]], event["Task Info"]
                self._at_work[group].add(task["Executor ID"])
                self._counts[group][OVERTAKING] += task["Speculative"]
            case "SparkListenerTaskEnd":
                group, end = self._groups[event["Stage ID"]], event["Task End Reason"]
                self._times[group].append(event["Task Info"]["Finish Time"])
                counts = self._counts[group]
                counts[LOST] += end["Reason"] in _LOST
                counts[OVERTAKEN] += "another attempt succeeded" in end.get("Kill Reason", "")
