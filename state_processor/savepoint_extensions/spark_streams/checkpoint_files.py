"""The files of a streaming query's checkpoint that say how far the query is. They need no Spark.

| file                            | what it has                                                       |
|---------------------------------|-------------------------------------------------------------------|
| ``metadata``                    | the id of the query, as JSON                                      |
| ``offsets/N``                   | planned batch N: ``v1`` or ``v2``, a line of JSON with settings,  |
|                                 | then a line per source: where the batch ends                      |
| ``commits/N``                   | completed batch N: ``v1`` or ``v2``, then JSON with               |
|                                 | ``nextBatchWatermarkMs``; and ``stateUniqueIds``, if the files of |
|                                 | state have ids in their names                                     |
| ``sources/S/N``, ``N.compact``  | files of source S in its batch N, or up to it: ``v1``, then a line |
|                                 | of JSON per file                                                  |
| ``state/P/_metadata/metadata``  | stateful operator P: its name and stores                          |
| ``state/P/_metadata/v2/N``      | the same of newer operators, with the paths of schemas            |
| ``state/P/_stateSchema/…``      | these schemas                                                     |

A source's line is JSON; with ``v2`` the name of the source and a colon precede it. A source without
data has ``-`` or no line. A stopped query may have planned a batch that it never committed, so
positions and the watermark are those of the last committed batch.

A batch evicts by the watermark in its ``offsets/N``, and its ``commits/N`` has that of the next batch. So the
state of batch N still has windows between the two.

Spark: ``OffsetSeqLog``, ``CommitLog``, ``FileStreamSourceLog``, ``OperatorStateMetadata``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from savepoint_formats.errors import (
    FormatError,
    NotFoundError,
    RefusedError,
    SavepointNotFoundError,
    StateFileNotFoundError,
    UnsupportedVersionError,
)
from savepoint_formats.locations import Location, reading_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_T = TypeVar("_T")
METADATA, OFFSETS, COMMITS, STATE = "metadata", "offsets", "commits", "state"
SOURCES = "sources"
_FACTS = "_metadata"
_LOG_OFFSET, _COMPACT = "logOffset", ".compact"
_VERSIONS = ("v1", "v2")
_NOTHING = "-"
COPY = "Copy the whole checkpoint again, or take a backup of it"
"""What to do if files are lost."""
_MOST_BYTES = 1 << 26  # of a file of a log: one line per source


def is_checkpoint(path: str) -> bool:
    """Whether a streaming query's checkpoint is at a path; False if nothing is."""
    try:
        return {METADATA, OFFSETS, COMMITS} <= _names(path.rstrip("/"))
    except NotFoundError:
        return False


@dataclass(frozen=True)
class CommittedBatch:
    """A completed batch of a checkpoint."""

    path: str
    batch_id: int

    @cached_property
    def watermark(self) -> int | None:
        """The watermark in ms since the epoch, as of the committed batch; None if it has not begun."""
        return self._number(COMMITS, "nextBatchWatermarkMs")

    @cached_property
    def evicted(self) -> int | None:
        """The watermark in ms up to which the query has emitted windows and evicted state.

        It may be before ``watermark``, by which the next batch would evict: windows between the two are
        still in the state, and rows for them are not late yet. None if it has not begun.
        """
        return self._number(OFFSETS, "batchWatermarkMs")

    @property
    def has_ids(self) -> bool:
        """Whether the files of its state have ids in their names: Spark's format 2 of checkpoints."""
        return bool(self.state_ids)

    @cached_property
    def state_ids(self) -> Mapping[str, Any]:
        """Number of an operator -> the ids in the names of its files, as a list per partition."""
        return fact_of(self._facts(COMMITS), "stateUniqueIds", dict, {}, self.path)

    @cached_property
    def offsets(self) -> Mapping[str, Any]:
        """Where each source goes on: its number or name -> its offset, as the source writes it.

        Kafka's is ``{"topic": {"0": 23}}``: the offset of the next record by partition.
        """
        version, lines = self._lines(OFFSETS)
        if version == _VERSIONS[0]:
            pairs = [(str(number), line) for number, line in enumerate(lines[1:])]
        else:
            pairs = [(name, line) for name, _, line in (it.partition(":") for it in lines[1:])]
        return {name: _value(line) for name, line in pairs if line != _NOTHING}

    def files(self, source: str = "0") -> tuple[str, ...]:
        """The files that a source of files has read up to the committed batch, as URIs with escapes.

        Args:
            source: Its number or name, as in ``offsets``.

        Raises:
            NotFoundError: There is no such source, or it has read nothing.
            RefusedError: It is no source of files.
            FormatError: Its log is damaged, or has gaps.

        Example:
            >>> writer.with_file_source("orders", checkpoint.files("0"))
        """
        if source not in self.offsets:
            known = ", ".join(self.offsets) or "none"
            raise NotFoundError(f"{self.path} has no source {source!r} with data; it has {known}")
        offset = self.offsets[source]
        if not isinstance(offset, dict) or not isinstance(offset.get(_LOG_OFFSET), int):
            raise RefusedError(
                f"source {source!r} of {self.path} is no source of files: its offset is {offset!r}"
            )
        return tuple(_files_of(f"{self.path}/{SOURCES}/{source}", offset[_LOG_OFFSET]))

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """The settings of Spark that the query has fixed, without ``spark.sql.streaming.``."""
        conf = fact_of(self._facts(OFFSETS), "conf", dict, {}, self.path)
        return {name.removeprefix("spark.sql.streaming."): text for name, text in conf.items()}

    def _number(self, log: str, name: str) -> int | None:
        """A number of the batch's facts in a log; None for 0, which says that there is none."""
        return fact_of(self._facts(log), name, int, 0, self.path) or None

    def _facts(self, log: str) -> dict[str, Any]:
        _, lines = self._lines(log)
        return json_object(lines[0] if lines else "{}", self.path)

    def _lines(self, log: str) -> tuple[str, list[str]]:
        return _read_log(f"{self.path}/{log}/{self.batch_id}", _VERSIONS)


def committed_batch(path: str, number: int | None = None) -> CommittedBatch:
    """The last committed batch of a checkpoint, or the one with a number.

    Raises:
        SavepointNotFoundError: There is no checkpoint, or no committed batch.
        NotFoundError: The batch is not committed.
    """
    if not is_checkpoint(path):
        raise SavepointNotFoundError(
            f"{path} has no checkpoint of a streaming query: expected {METADATA}, {OFFSETS}/ and"
            f" {COMMITS}/ in it, the query's checkpointLocation"
        )
    committed = numbered(f"{path.rstrip('/')}/{COMMITS}")
    if not committed:
        raise SavepointNotFoundError(f"{path} has no committed batch: let the query complete one")
    if number is not None and number not in committed:
        raise NotFoundError(
            f"{path} has no committed batch {number}; it has {committed[0]} to {committed[-1]}"
        )
    return CommittedBatch(path.rstrip("/"), committed[-1] if number is None else number)


def expect_facts(path: str, known: Iterable[str] = ()) -> None:
    """Raises ``UnsupportedVersionError`` for an operator that an old Spark has stored no facts of.

    Raises ``FormatError`` if an operator is missing: another one would count as the only one. The last one is
    missed only if it is among the ``known`` operators, which format 2 stores.
    """
    operators = numbered(f"{path}/{STATE}")
    there = [*map(str, operators)]
    for number in [*map(str, range(len(operators))), *known]:
        if number not in there:
            those = ", ".join(there) or "none"
            raise FormatError(f"operator {number} is missing; there are {those}. {COPY}", path, -1)
    for operator in operators:
        place = f"{path}/{STATE}/{operator}"
        if _FACTS not in _names(place):
            raise UnsupportedVersionError(
                f"operator {operator} has no {_FACTS}, with its name and stores, which Spark writes"
                " since 4.0: run a batch of the query with Spark 4 from this checkpoint, or from a"
                " copy; that adds it, and state stays",
                place,
                -1,
            )


def expect_partitions(path: str, operator: int, number: int) -> None:
    """Raises ``FormatError`` unless an operator has all its partitions: Spark reads those that are there."""
    place = f"{path}/{STATE}/{operator}"
    missing = {*range(number)}.difference(numbered(place))
    if missing:
        lost = ", ".join(map(str, sorted(missing)))
        raise FormatError(f"of {number} partitions of state, {lost} are missing. {COPY}", place, -1)


def _files_of(log: str, last: int) -> list[str]:
    """The files of a source's log up to a batch of the source."""
    single, compact = {*numbered(log)}, numbered(log, _COMPACT)
    begin = max((number for number in compact if number <= last), default=-1)
    read = [f"{begin}{_COMPACT}"] if begin >= 0 else []
    if single.issuperset(range(begin + 1, last + 1)):
        read += map(str, range(begin + 1, last + 1))
    else:
        later = min((number for number in compact if number > last), default=None)
        if later is None:
            raise FormatError(f"the log lacks batches before {last}", log, -1)
        read = [f"{later}{_COMPACT}"]
    files: dict[str, None] = {}
    for name in read:
        file = f"{log}/{name}"
        _, lines = _read_log(file, _VERSIONS[:1], most=None)
        for entry in (json_object(line, file) for line in lines):
            if fact_of(entry, "batchId", int, 0, file) <= last:
                files[fact_of(entry, "path", str, None, file)] = None
    return list(files)


def read_text(file: str, most: int | None = _MOST_BYTES) -> str:
    """The text of a file, of a small one by default, or ``SavepointError``."""
    place = Location.of(file)
    if place.file_size() is None:
        raise StateFileNotFoundError(f"{file} is missing. {COPY}")
    with reading_errors(file), place.filesystem.open_input_stream(place.path) as stream:
        data = stream.read(most)
    try:
        return str(data.decode())
    except UnicodeDecodeError as error:
        raise FormatError("not UTF-8", file, error.start) from error


def _read_log(
    file: str, versions: Sequence[str], most: int | None = _MOST_BYTES
) -> tuple[str, list[str]]:
    """The version of a log, and its lines. Only a line feed ends one: JSON of Spark has other separators."""
    version, *lines = read_text(file, most).removesuffix("\n").split("\n")
    if version not in versions:
        known = " or ".join(versions)
        raise UnsupportedVersionError(f"version {version!r}, expected {known}", file, 0)
    return version, lines


def _names(directory: str) -> set[str]:
    """The names of files and directories; none if there is no directory."""
    return {info.base_name for info in Location.of(directory).infos()}


def numbered(directory: str, ending: str = "") -> list[int]:
    """The numbers that are names in a directory, in front of an ending, in order."""
    names = (it.removesuffix(ending) for it in _names(directory) if it.endswith(ending))
    return sorted(int(name) for name in names if name.isdecimal())


def fact_of(
    facts: Mapping[str, Any], name: str, kind: type[_T], default: _T | None, path: str
) -> _T:
    """A fact of an entry of a log, or its default; ``FormatError`` if it is of another kind."""
    fact = facts.get(name, default)
    if not isinstance(fact, kind) or isinstance(fact, bool):
        raise FormatError(f"{name} is {fact!r}, expected {kind.__name__}", path, -1)
    return fact


def json_object(line: str, path: str) -> dict[str, Any]:
    """The object in a line of a log; ``FormatError`` if it has none."""
    value = _value(line)
    if not isinstance(value, dict):
        raise FormatError(f"{line[:80]!r}, expected an object of JSON", path, -1)
    return value


def _value(line: str) -> Any:
    """The value of JSON, or the line: a source of a user may write any text as its offset."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line
