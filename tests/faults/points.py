"""Points: each system call of a write that changes a file is struck in turn, and nothing may be lost.

A first write is counted. Then the write runs again for each of its calls, which fails or kills its process.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from support.masks import SECRET

from faults.commands import COMMANDS, SHRINK, SOURCES, make_sources
from faults.process import Driver
from faults.rounds import faults_after
from faults.strikes import Control, library
from faults.ways import SOURCE_FACTOR, WAYS, Place, digests
from savepoint_formats.locations.file_io import METADATA_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WAYS = WAYS | COMMANDS
_KILLED = "killed"
_REMOVING = frozenset({"unlink", "unlinkat", "remove", "rmdir"})


@dataclass(frozen=True)
class Strike:
    """How a write went whose call of a number was struck.

    Attributes:
        way: How it wrote.
        action: What happened at the call.
        point: The number of the call, from 1.
        points: How many calls there are.
        call: The name of the call; empty if the write ended before it.
        end: ``done``, the name of an error, or ``killed``.
        message: Of the error.
        faults: What is not as it must be.
    """

    way: str
    action: str
    point: int
    points: int
    call: str
    end: str
    message: str
    faults: tuple[str, ...]


class Points:
    """A driver that is struck, and its sources.

    Args:
        folder: Where all of it lies.
        master: As Spark has it; empty for commands without Spark.
    """

    def __init__(self, folder: Path, master: str = "") -> None:
        self._folder, self._number = folder, 0
        self._control = Control(folder / "control")
        loaded = {
            "LD_PRELOAD": str(library(folder)),
            "STRIKE_CONTROL": str(folder / "control"),
            "SAVEPOINT_MASK_SECRET": SECRET,
        }
        self._driver = Driver(master, folder, variables=loaded)
        make_sources(folder)
        if master:
            self._make("bootstrap", Path(), folder / "source")
            self._make(SHRINK, _WAYS[SHRINK].source(folder), folder / "small")

    def _make(self, name: str, source: Path, target: Path) -> None:
        end, message = self._write(name, "here", Place(str(source), str(target), SOURCE_FACTOR))
        if end != "done":
            raise RuntimeError(f"{name} fails, though nothing strikes: {end}: {message}")

    def close(self) -> None:
        """Ends the driver."""
        self._driver.kill()

    def strikes(
        self, name: str, actions: Sequence[str], every: int = 1, first: int = 1
    ) -> Iterator[Strike]:
        """Strikes each call of a way to write, or some of them, by the actions in turn."""
        points = self.count(name)
        for point in range(first, points + 1, every):
            # A call has its action wherever the strikes begin.
            action = actions[(point - 1) // every % len(actions)]
            yield self._strike(name, action, point, points)

    def count(self, name: str) -> int:
        """Number of calls of a way to write, which are not struck."""
        source = _WAYS[name].source(self._folder)
        if source.name in SOURCES and not source.exists():
            self._make(source.name, Path(), self._folder / source.name)
        # What is loaded once is there for all that is forked.
        self._write(name, "here", self._place(name))
        place = self._place(name)
        self._arm(place)
        end, message = self._write(
            name, "overwrite" if _WAYS[name].is_replacing else "error", place
        )
        points, _ = self._disarm()
        if end != "done" or (fault := _WAYS[name].fault(place)):
            raise RuntimeError(f"{name} fails, though nothing strikes: {end}: {message or fault}")
        return points

    def _arm(self, place: Place, point: int = 0, action: str = _KILLED) -> None:
        """Counts calls for a place from now on, and strikes that of a number; none if it is 0."""
        self._control.arm(Path(place.target).parent, point, action)

    def _disarm(self) -> tuple[int, str]:
        """Number of calls since then, and the name of the one that was struck, if any."""
        self._control.disarm()
        return self._control.counted, self._control.struck

    def _strike(self, name: str, action: str, point: int, points: int) -> Strike:
        way, place = _WAYS[name], self._place(name)
        before = digests(place.source), digests(place.target)
        self._arm(place, point, action)
        end, message = self._write(
            name, "overwrite" if _WAYS[name].is_replacing else "error", place
        )
        _, call = self._disarm()
        is_clear = end in ("done", _KILLED) or (message and "\n" not in message)
        faults = [] if is_clear else [f"{end}: {message}"]
        found = faults_after(way, place, before, end)
        if call in _REMOVING:
            # Who can't remove a file leaves it; the next write removes it.
            found = [fault for fault in found if not fault.startswith("left over")]
        if call == "fsync" and "is complete, but a loss of power" in message:
            found = [fault for fault in found if "is complete, but the write" not in fault]
        faults += self._found(place, call, found)
        next_end, reason = self._write_again(name, place)
        if next_end != "done":
            faults.append(f"the next write: {next_end}: {reason}")
        else:
            after = (way.fault(place), way.left_over(place))
            faults += [f"the next write: {fault}" for fault in after if fault]
        self._remove(place)
        return Strike(name, action, point, points, call, end, message, tuple(faults))

    def _found(self, place: Place, call: str, found: Sequence[str]) -> Sequence[str]:
        """Faults, those of what is looked at in its own way among them."""
        return found

    def _write_again(self, name: str, place: Place) -> tuple[str, str]:
        return self._write(name, "overwrite", place)

    def _remove(self, place: Place) -> None:
        shutil.rmtree(Path(place.target).parent)

    def _place(self, name: str) -> Place:
        self._number += 1
        folder = self._folder / str(self._number)
        folder.mkdir()
        way, target = _WAYS[name], folder / "target"
        if way.is_replacing:
            shutil.copytree(way.old(self._folder), target)
        elif way.marker != METADATA_FILE:
            target.mkdir()
        source = str(way.source(self._folder))
        return Place(source, str(target), SOURCE_FACTOR + self._number)

    def _write(self, name: str, mode: str, place: Place) -> tuple[str, str]:
        """Has it write; returns how that ended, and the message."""
        self._driver.order(name, mode, place)
        return self._end()

    def _end(self) -> tuple[str, str]:
        end, message = _KILLED, ""
        while "idle" not in (answer := self._driver.answer()):
            end, message = answer.get("ended", end), answer.get("message", message)
        return end, message
