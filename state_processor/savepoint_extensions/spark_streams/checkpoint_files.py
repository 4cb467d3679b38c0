"""The files of a streaming query's checkpoint that say how far the query is. They need no Spark.

| file                            | what it has                                                       |
|---------------------------------|-------------------------------------------------------------------|
| ``metadata``                    | the id of the query, as JSON                                      |
| ``offsets/N``                   | planned batch N: ``v1`` or ``v2``, a line of JSON with settings,  |
|                                 | then a line per source: where the batch ends                      |
| ``commits/N``                   | completed batch N: ``v1`` or ``v2``, then JSON with               |
|                                 | ``nextBatchWatermarkMs``                                          |
| ``state/P/_metadata/metadata``  | stateful operator P: its name and stores                          |
| ``state/P/_metadata/v2/N``      | the same of newer operators, with the paths of schemas            |
| ``state/P/_stateSchema/…``      | these schemas                                                     |

A source's line is JSON; with ``v2`` the name of the source and a colon precede it. A source without
data has ``-`` or no line. A stopped query may have planned a batch that it never committed, so
positions and the watermark are those of the last committed batch.

Spark: ``OffsetSeqLog``, ``CommitLog``, ``OperatorStateMetadata``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from savepoint_formats.errors import (
    FormatError,
    NotFoundError,
    SavepointNotFoundError,
    UnsupportedVersionError,
)
from savepoint_formats.locations import Location, reading_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

METADATA, OFFSETS, COMMITS, STATE = "metadata", "offsets", "commits", "state"
_VERSIONS = ("v1", "v2")
_NOTHING = "-"
_MOST_BYTES = 1 << 26  # of a file of a log: one line per source


def is_checkpoint(path: str) -> bool:
    """Whether a streaming query's checkpoint is at a path; False if nothing is."""
    try:
        top = Location.of(path.rstrip("/"))
        names = {info.base_name for info in top.infos()}
    except NotFoundError:
        return False
    return {METADATA, OFFSETS, COMMITS} <= names


@dataclass(frozen=True)
class CommittedBatch:
    """A completed batch of a checkpoint.

    Attributes:
        path: The checkpoint.
        number: The number of the batch.
    """

    path: str
    number: int

    @classmethod
    def of(cls, path: str, number: int | None = None) -> Self:
        """The last committed batch, or the one with a number.

        Raises:
            SavepointNotFoundError: There is no checkpoint, or no committed batch.
            NotFoundError: The batch is not committed.
        """
        if not is_checkpoint(path):
            raise SavepointNotFoundError(
                f"{path} has no checkpoint of a streaming query: expected {METADATA}, {OFFSETS}/ and"
                f" {COMMITS}/ in it, the query's checkpointLocation"
            )
        committed = _numbers(path, COMMITS)
        if not committed:
            raise SavepointNotFoundError(
                f"{path} has no committed batch: let the query complete one"
            )
        if number is not None and number not in committed:
            raise NotFoundError(
                f"{path} has no committed batch {number}; it has {committed[0]} to {committed[-1]}"
            )
        return cls(path.rstrip("/"), committed[-1] if number is None else number)

    @cached_property
    def watermark_ms(self) -> int | None:
        """The watermark after the batch, in ms since the epoch; None if it has not begun."""
        _, lines = self._lines(COMMITS)
        watermark = _parsed(lines[0] if lines else "{}", self.path).get("nextBatchWatermarkMs", 0)
        return int(watermark) or None

    @cached_property
    def offsets(self) -> Mapping[str, Any]:
        """Source -> where it goes on. Sources have names, or else numbers from 0."""
        version, lines = self._lines(OFFSETS)
        if version == _VERSIONS[0]:
            pairs = [(str(number), line) for number, line in enumerate(lines[1:])]
        else:
            pairs = [(name, line) for name, _, line in (it.partition(":") for it in lines[1:])]
        return {name: _value(line) for name, line in pairs if line != _NOTHING}

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """The settings of Spark that the query has fixed, without ``spark.sql.streaming.``."""
        _, lines = self._lines(OFFSETS)
        conf = _parsed(lines[0] if lines else "{}", self.path).get("conf", {})
        return {name.removeprefix("spark.sql.streaming."): text for name, text in conf.items()}

    def _lines(self, log: str) -> tuple[str, list[str]]:
        file = f"{self.path}/{log}/{self.number}"
        version, *lines = read_text(file).splitlines() or [""]
        if version not in _VERSIONS:
            raise UnsupportedVersionError(f"version {version!r}, expected v1 or v2", file, 0)
        return version, lines


def read_text(file: str) -> str:
    """The text of a small file, or ``SavepointError``."""
    place = Location.of(file)
    with reading_errors(file), place.filesystem.open_input_stream(place.path) as stream:
        data = stream.read(_MOST_BYTES)
    try:
        return str(data.decode())
    except UnicodeDecodeError as error:
        raise FormatError("not UTF-8", file, error.start) from error


def numbered(directory: str) -> list[int]:
    """The numbers that are names in a directory, in order."""
    names = (info.base_name for info in Location.of(directory).infos())
    return sorted(int(name) for name in names if name.isdecimal())


def _numbers(path: str, log: str) -> list[int]:
    return numbered(f"{path.rstrip('/')}/{log}")


def _parsed(line: str, path: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise FormatError(f"{line[:80]!r} is no JSON", path, -1) from error
    if not isinstance(value, dict):
        raise FormatError(f"{line[:80]!r}, expected an object of JSON", path, -1)
    return value


def _value(line: str) -> Any:
    """An offset; a source of a user may write any text."""
    try:
        return json.loads(line)
    except ValueError:
        return line
