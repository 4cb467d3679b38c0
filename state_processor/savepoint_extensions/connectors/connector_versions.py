"""Whether a release of a connector reads the state that another release wrote.

``version_table`` has the versions. What it doesn't have is unknown: a release that was not tried, a connector
without rows, bytes that no known connector wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_extensions.connectors.kafka.kafka_source import CoordinatorState
from savepoint_extensions.connectors.sink_elements import elements_of
from savepoint_extensions.connectors.source_splits.split_connectors import (
    CDC,
    CONNECTORS,
    read_enumerator,
)
from savepoint_extensions.connectors.source_state import UNVERSIONED, reader_splits
from savepoint_extensions.connectors.version_table import PARTS, release_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from savepoint_database.snapshot import Operator, Snapshot

RESTORABLE, NOT_RESTORABLE, UNKNOWN = "restorable", "not restorable", "unknown"
COORDINATOR_STATE = "coordinator_state"
_BY_WEIGHT = (RESTORABLE, UNKNOWN, NOT_RESTORABLE)
_NOT_PROVEN = "not proven: try the restore before you rely on it"


_CAPTURED = ("mysql-cdc", "postgres-cdc", "oracle-cdc", "sqlserver-cdc", "mongodb-cdc")
_NAMES = sorted({*(row.name for row in CONNECTORS), *_CAPTURED, *(row.connector for row in PARTS)})


@dataclass(frozen=True, slots=True)
class JudgedState:
    """Whether a release reads a state of its connector.

    Attributes:
        operator: The operator, by its uid or hash.
        state: The state.
        verdict: ``restorable``, ``not restorable`` or ``unknown``.
        where: The connector and its release.
        reason: The reason.
        advice: What to do.
    """

    operator: str
    state: str
    verdict: str
    where: str
    reason: str
    advice: str


def judged_states(snapshot: Snapshot, releases: Mapping[str, str]) -> list[JudgedState]:
    """Verdicts on the states of some connectors, the worst last; a state of another connector has none.

    State that no known connector wrote is unknown.

    Args:
        snapshot: The savepoint.
        releases: Connector -> the release of it that restores the savepoint.

    Raises:
        ValueError: A connector or a release is not known.
        SavepointError: A file of a source or sink is gone or damaged.
    """
    for connector, release in releases.items():
        if connector not in _NAMES:
            raise ValueError(f"no connector {connector!r}; there are {', '.join(_NAMES)}")
        release_of(release)
    judged = []
    for operator in snapshot.operators():
        written: dict[tuple[str, str, str], set[int]] = {}
        for state, connector, part, version in _written(operator):
            written.setdefault((state, connector, part), set()).add(version)
        for (state, connector, part), versions in written.items():
            for asked in _asked(connector, releases):
                answer = _judged(asked, part, releases[asked], versions)
                judged.append(JudgedState(operator.name, state, *answer))
            if connector == UNKNOWN:
                judged.append(JudgedState(operator.name, state, *_of_nobody(part, versions)))
    return sorted(judged, key=lambda known: _BY_WEIGHT.index(known.verdict))


def _asked(connector: str, releases: Mapping[str, str]) -> list[str]:
    """The connectors that the user names and that may have written the bytes."""
    if connector == CDC:
        return [name for name in releases if name in _CAPTURED]
    return [connector] if connector in releases else []


def _of_nobody(part: str, versions: set[int]) -> tuple[str, str, str, str]:
    texts = ", ".join(map(str, sorted(versions)))
    reason = (
        f"{part} of version {texts}, which no known connector writes, or not in a known version"
    )
    return UNKNOWN, "unknown connector", reason, _NOT_PROVEN


def _written(operator: Operator) -> Iterator[tuple[str, str, str, int]]:
    """State, connector, part and version of all bytes that connectors wrote."""
    reader = None
    source = ""
    for split in reader_splits(operator):
        if split.raw is not None and split.raw.version != UNVERSIONED:
            reader, source = split.connector, split.facts.connector
            yield split.element.state, source, "splits", split.raw.version
    coordinator = CoordinatorState.of_source(operator.record)
    if coordinator is not None:
        raw = coordinator.enumerator
        _, known = read_enumerator(raw, "enumerator", reader)
        connector = source or (known[0].connector if known else UNKNOWN)
        yield COORDINATOR_STATE, connector, "enumerator", raw.version
    for element in elements_of(operator):
        for entry in element.entries(operator.name, 0, 0):
            if entry.raw.version is not None and not element.old:
                part = "writers" if element.is_writer else "committables"
                yield element.state, entry.connector, part, entry.raw.version


def _judged(
    connector: str, part: str, release: str, versions: set[int]
) -> tuple[str, str, str, str]:
    """Verdict, where, reason and advice."""
    where, texts = f"{connector} {release}", ", ".join(map(str, sorted(versions)))
    row = next((row for row in PARTS if (row.connector, row.part) == (connector, part)), None)
    known = None if row is None else row.of_release(release_of(release))
    if row is None or known is None:
        tried = (
            "no release was tried" if row is None else f"the newest that was tried is {row.newest}"
        )
        return UNKNOWN, where, f"{part} of version {texts}: {tried}, not this one", _NOT_PROVEN
    read = f"{part} of version {texts}; it reads {known.lowest} to {known.writes}"
    if not known.is_proven:
        reason = f"{read} by its source, and no release of {row.artifact} could be run"
        return UNKNOWN, where, reason, _NOT_PROVEN
    read += f" (tried with {row.artifact} {', '.join(known.jars.split())})"
    if partly := versions & {*known.partly}:
        reason = f"{read}, but of {', '.join(map(str, sorted(partly)))} only {known.limit}"
        return UNKNOWN, where, reason, "savepoint sources and sinks show what it does not see"
    if all(known.lowest <= version <= known.writes for version in versions):
        return RESTORABLE, where, read, "nothing"
    advice = "use a newer release of the connector"
    if part == "enumerator" and connector in ("kafka", *_CAPTURED):
        advice += f"; or savepoint sources PATH OUT --as-version {known.writes} OPERATOR"
    return NOT_RESTORABLE, where, read, advice
