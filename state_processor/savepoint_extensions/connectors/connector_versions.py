"""Whether a release of a connector reads the state that another release wrote.

Each serializer of a connector has a version, which stands before its bytes. A release writes one version,
and refuses higher ones. ``PARTS`` has a row per serializer; a release that is newer than the newest one
that was tried is unknown, and so is a connector without rows.

| connector | part         | from  | writes | reads  | tried with the jars                                     |
|-----------|--------------|-------|--------|--------|---------------------------------------------------------|
| kafka     | splits       | 3.0   | 0      | 0      | flink-connector-kafka 3.0.2-1.18, 3.1.0-1.18,           |
| kafka     | enumerator   | 3.0   | 1      | 0 to 1 | 3.4.0-1.20, 4.0.1-2.0, 5.0.0-2.2                        |
|           |              | 3.1   | 2      | 0 to 2 |                                                         |
|           |              | 5.0   | 3      | 0 to 3 |                                                         |
| kafka     | committables | 3.0   | 1      | 1      |                                                         |
| kafka     | writers      | 3.0   | 1      | 1      | reads the prefix of version 2, and not its transactions |
|           |              | 4.0   | 2      | 1 to 2 |                                                         |
| file      | splits       | 1.20  | 1      | 1      | flink-dist 1.20.5, 2.2.1: its releases are Flink's      |
| file      | enumerator   | 1.20  | 1      | 1      |                                                         |
| file      | committables | 1.20  | 2      | 1 to 2 |                                                         |
| file      | writers      | 1.20  | 3      | 1 to 3 |                                                         |
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_extensions.connectors.kafka.kafka_source import CoordinatorState
from savepoint_extensions.connectors.sink_elements import elements_of
from savepoint_extensions.connectors.source_splits.split_connectors import CONNECTORS
from savepoint_extensions.connectors.source_state import reader_splits
from savepoint_formats.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from savepoint_database.snapshot import Operator, Snapshot

Release = tuple[int, ...]

RESTORABLE, NOT_RESTORABLE, UNKNOWN = "restorable", "not restorable", "unknown"
COORDINATOR_STATE = "coordinator_state"


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of a serializer from a release on.

    Attributes:
        first: The release.
        writes: The version that it writes, the highest that it reads.
        lowest: The lowest version that it reads.
        partly: A higher version of which it reads a part without an error; 0 for none.
    """

    first: Release
    writes: int
    lowest: int = 0
    partly: int = 0


@dataclass(frozen=True, slots=True)
class ConnectorPart:
    """A serializer of a connector.

    Attributes:
        connector: The connector, as ``savepoint sources`` and ``sinks`` call it.
        part: ``splits``, ``enumerator``, ``committables`` or ``writers``.
        newest: The newest release that was tried.
        versions: Its versions, by release.
    """

    connector: str
    part: str
    newest: Release
    versions: tuple[Versions, ...]

    def of_release(self, release: Release) -> Versions | None:
        """The versions of a release; None if it is older or newer than the releases that were tried."""
        if release[:2] > self.newest:
            return None
        older = [known for known in self.versions if known.first <= release]
        return older[-1] if older else None


_KAFKA, _FILE = (5, 0), (2, 2)
PARTS = (
    ConnectorPart("kafka", "splits", _KAFKA, (Versions((3, 0), 0),)),
    ConnectorPart(
        "kafka",
        "enumerator",
        _KAFKA,
        (Versions((3, 0), 1), Versions((3, 1), 2), Versions((5, 0), 3)),
    ),
    ConnectorPart("kafka", "committables", _KAFKA, (Versions((3, 0), 1, 1),)),
    ConnectorPart("kafka", "writers", _KAFKA, (Versions((3, 0), 1, 1, 2), Versions((4, 0), 2, 1))),
    ConnectorPart("file", "splits", _FILE, (Versions((1, 20), 1, 1),)),
    ConnectorPart("file", "enumerator", _FILE, (Versions((1, 20), 1, 1),)),
    ConnectorPart("file", "committables", _FILE, (Versions((1, 20), 2, 1),)),
    ConnectorPart("file", "writers", _FILE, (Versions((1, 20), 3, 1),)),
)
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


def release_of(text: str) -> Release:
    """The numbers of a release such as ``5.0.0`` or ``3.4.0-1.20``; ``ValueError`` for others."""
    matched = re.match(r"(\d+(?:\.\d+)+)(?:-\d|$)", text)
    if matched is None:
        raise ValueError(f"release {text!r} of a connector, expected one such as 5.0.0")
    return tuple(map(int, matched[1].split(".")))


def judged_states(snapshot: Snapshot, releases: Mapping[str, str]) -> list[JudgedState]:
    """Verdicts on the states of some connectors; a state of another connector has none.

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
            if connector in releases:
                answer = _judged(connector, part, releases[connector], versions)
                judged.append(JudgedState(operator.name, state, *answer))
    return judged


def _written(operator: Operator) -> Iterator[tuple[str, str, str, int]]:
    """State, connector, part and version of all bytes that connectors wrote."""
    source = ""
    for split in reader_splits(operator):
        if split.raw is not None and split.connector is not None:
            source = split.facts.connector
            yield split.element.state, source, "splits", split.raw.version
    coordinator = operator.record.coordinator_state
    if coordinator is not None and source:
        try:
            raw = CoordinatorState.of(coordinator.data, coordinator.name).enumerator
            yield COORDINATOR_STATE, source, "enumerator", raw.version
        except FormatError:
            pass  # an unknown version is no source's, and stays unknown
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
        tried = "no release" if row is None else f"releases up to {_text(row.newest)}"
        return (
            UNKNOWN,
            where,
            f"{part} of version {texts}: {tried} of {connector} were tried, and not this one",
            "not proven: try the restore before you rely on it",
        )
    read = f"{part} of version {texts}; it reads {known.lowest} to {known.writes}"
    if all(known.lowest <= version <= known.writes for version in versions):
        return RESTORABLE, where, read, "nothing"
    if all(known.lowest <= version <= max(known.writes, known.partly) for version in versions):
        return (
            UNKNOWN,
            where,
            f"{read}, and of {known.partly} a part without an error",
            "savepoint sinks shows what it does not see",
        )
    advice = "use a newer release of the connector"
    if (connector, part) == ("kafka", "enumerator"):
        advice += f"; or savepoint sources PATH OUT --as-version {known.writes} OPERATOR"
    return NOT_RESTORABLE, where, read, advice


def _text(release: Release) -> str:
    return ".".join(map(str, release))
