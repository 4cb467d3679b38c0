"""The versions of state that releases of connectors write and read: a row per serializer and release.

Each serializer of a connector has a version, which stands before its bytes. A release writes one version,
and reads some older ones. A row holds from its first release up to the newest that was tried; for a release
behind that, or between it and the next row, the answer is unknown.

| connector    | part         | from | writes | reads  | tried with |
|--------------|--------------|------|--------|--------|------------|
| kafka        | splits       | 3.0  |      0 | 0 to 0 | 3.0.2-1.17 3.1.0-1.18 3.2.0-1.18 3.4.0-1.20 4.0.1-2.0 5.0.0-2.2 |
| kafka        | enumerator   | 3.0  |      1 | 0 to 1 | 3.0.2-1.17 |
| kafka        | enumerator   | 3.1  |      2 | 0 to 2 | 3.1.0-1.18 3.2.0-1.18 3.4.0-1.20 4.0.1-2.0 |
| kafka        | enumerator   | 5.0  |      3 | 0 to 3 | 5.0.0-2.2 |
| kafka        | committables | 3.0  |      1 | 1 to 1 | 3.0.2-1.17 3.1.0-1.18 3.2.0-1.18 3.4.0-1.20 4.0.1-2.0 5.0.0-2.2 |
| kafka        | writers      | 3.0  |      1 | 1 to 1 | 3.0.2-1.17 3.1.0-1.18 3.2.0-1.18 3.4.0-1.20 |
| kafka        | writers      | 4.0  |      2 | 1 to 2 | 4.0.1-2.0 5.0.0-2.2 |
| file         | splits       | 1.17 |      1 | 1 to 1 | 1.17.2 1.18.1 1.20.5 2.2.1 2.3.0 |
| file         | enumerator   | 1.17 |      1 | 1 to 1 | 1.17.2 1.18.1 1.20.5 2.2.1 2.3.0 |
| file         | committables | 1.17 |      2 | 1 to 2 | 1.17.2 1.18.1 1.20.5 2.2.1 2.3.0 |
| file         | writers      | 1.17 |      3 | 1 to 3 | 1.17.2 1.18.1 1.20.5 2.2.1 2.3.0 |
| mysql-cdc    | splits       | 2.0  |      2 | 1 to 2 | 2.0.2 |
| mysql-cdc    | splits       | 2.1  |      3 | 1 to 3 | 2.1.1 |
| mysql-cdc    | splits       | 2.2  |      4 | 1 to 4 | 2.2.1 2.3.0 2.4.2 3.0.1 3.1.1 3.2.0 3.5.0 |
| mysql-cdc    | enumerator   | 2.0  |      2 | 1 to 2 | 2.0.2 |
| mysql-cdc    | enumerator   | 2.1  |      3 | 1 to 3 | 2.1.1 2.2.1 |
| mysql-cdc    | enumerator   | 2.3  |      5 | 1 to 5 | 2.3.0 2.4.2 3.0.1 3.1.1 3.2.0 3.5.0 |
| postgres-cdc | splits       | 2.4  |      4 | 4 to 4 | 2.4.2 3.0.1 |
| postgres-cdc | splits       | 3.1  |      5 | 4 to 5 | 3.1.1 3.2.1 |
| postgres-cdc | splits       | 3.4  |      6 | 4 to 6 | 3.4.0 3.5.0 |
| postgres-cdc | enumerator   | 2.4  |      5 | 4 to 5 | 2.4.2 3.0.1 |
| postgres-cdc | enumerator   | 3.1  |      6 | 4 to 6 | 3.1.1 3.2.1 |
| postgres-cdc | enumerator   | 3.4  |      8 | 4 to 8 | 3.4.0 3.5.0 |
| pulsar       | splits       | 1.15 |      0 | 0 to 0 | 1.15.2 |
| pulsar       | splits       | 1.16 |      1 | 0 to 1 | 1.16.0 3.0.0-1.16 3.0.1-1.16 |
| pulsar       | splits       | 4.0  |      2 | 0 to 2 | 4.0.0-1.17 4.1.0-1.18 |
| pulsar       | enumerator   | 1.15 |      0 | 0 to 0 | 1.15.2 |
| pulsar       | enumerator   | 1.16 |      2 | 0 to 2 | 1.16.0 3.0.0-1.16 3.0.1-1.16 |
| pulsar       | enumerator   | 4.0  |      3 | 0 to 3 | 4.0.0-1.17 4.1.0-1.18 |
| pulsar       | committables | 1.15 |      1 | 1 to 1 | 1.15.2 1.16.0 3.0.0-1.16 3.0.1-1.16 4.0.0-1.17 4.1.0-1.18 |
| kinesis      | splits       | 5.0  |      1 | 0 to 1 | no release: its source |
| kinesis      | enumerator   | 5.0  |      1 | 0 to 1 | no release: its source |

A release of Kafka's connector before 4.0 reads of writers of version 2 the prefix, and not the transactions. Finished
snapshots of ``flink-cdc-base`` name a class, which has another package from release 3.1 on. Those of
flink-connector-pulsar read higher versions, too, as if they were their own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

Release = tuple[int, ...]

_PREFIX = "its prefix, and not its transactions"
_FINISHED = (
    "all but finished snapshots, which name a class that is called otherwise from release 3.1 on"
)


def release_of(text: str) -> Release:
    """The numbers of a release such as ``5.0.0`` or ``3.4.0-1.20``; ``ValueError`` for others."""
    matched = re.match(r"(\d+(?:\.\d+)+)(?:-\d|$)", text)
    if matched is None:
        raise ValueError(f"release {text!r} of a connector, expected one such as 5.0.0")
    return tuple(map(int, matched[1].split(".")))


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of a serializer from a release on.

    Attributes:
        first: The release.
        writes: The version that it writes, the highest that it reads.
        lowest: The lowest version that it reads.
        jars: Releases whose jar was asked; empty where the source alone is known.
        partly: Versions of which it reads a part.
        limit: The part.
    """

    first: Release
    writes: int
    lowest: int
    jars: str
    partly: tuple[int, ...] = ()
    limit: str = ""

    @property
    def is_proven(self) -> bool:
        return bool(self.jars)

    def holds_for(self, release: Release) -> bool:
        """Whether a release is one of these, as far as that was tried."""
        tried = [release_of(jar) for jar in self.jars.split()]
        return self.first <= release and (not tried or release <= max(tried))


@dataclass(frozen=True, slots=True)
class ConnectorPart:
    """A serializer of a connector.

    Attributes:
        connector: The connector, as ``savepoint sources`` and ``sinks`` call it.
        part: ``splits``, ``enumerator``, ``committables`` or ``writers``.
        artifact: The artifact that has it.
        versions: Its versions, by release.
    """

    connector: str
    part: str
    artifact: str
    versions: tuple[Versions, ...]

    def of_release(self, release: Release) -> Versions | None:
        """The versions of a release; None if it was not tried, nor releases before and behind it."""
        known = [known for known in self.versions if known.holds_for(release)]
        return known[-1] if known else None

    @property
    def newest(self) -> str:
        """The newest release that was tried; empty if none was."""
        return self.versions[-1].jars.rpartition(" ")[2]


PARTS = (
    ConnectorPart(
        "kafka",
        "splits",
        "flink-connector-kafka",
        (
            Versions(
                (3, 0), 0, 0, "3.0.2-1.17 3.1.0-1.18 3.2.0-1.18 3.4.0-1.20 4.0.1-2.0 5.0.0-2.2"
            ),
        ),
    ),
    ConnectorPart(
        "kafka",
        "enumerator",
        "flink-connector-kafka",
        (
            Versions((3, 0), 1, 0, "3.0.2-1.17"),
            Versions((3, 1), 2, 0, "3.1.0-1.18 3.2.0-1.18 3.4.0-1.20 4.0.1-2.0"),
            Versions((5, 0), 3, 0, "5.0.0-2.2"),
        ),
    ),
    ConnectorPart(
        "kafka",
        "committables",
        "flink-connector-kafka",
        (
            Versions(
                (3, 0), 1, 1, "3.0.2-1.17 3.1.0-1.18 3.2.0-1.18 3.4.0-1.20 4.0.1-2.0 5.0.0-2.2"
            ),
        ),
    ),
    ConnectorPart(
        "kafka",
        "writers",
        "flink-connector-kafka",
        (
            Versions(
                (3, 0),
                1,
                1,
                "3.0.2-1.17 3.1.0-1.18 3.2.0-1.18 3.4.0-1.20",
                partly=(2,),
                limit=_PREFIX,
            ),
            Versions((4, 0), 2, 1, "4.0.1-2.0 5.0.0-2.2"),
        ),
    ),
    ConnectorPart(
        "file",
        "splits",
        "flink-dist",
        (Versions((1, 17), 1, 1, "1.17.2 1.18.1 1.20.5 2.2.1 2.3.0"),),
    ),
    ConnectorPart(
        "file",
        "enumerator",
        "flink-dist",
        (Versions((1, 17), 1, 1, "1.17.2 1.18.1 1.20.5 2.2.1 2.3.0"),),
    ),
    ConnectorPart(
        "file",
        "committables",
        "flink-dist",
        (Versions((1, 17), 2, 1, "1.17.2 1.18.1 1.20.5 2.2.1 2.3.0"),),
    ),
    ConnectorPart(
        "file",
        "writers",
        "flink-dist",
        (Versions((1, 17), 3, 1, "1.17.2 1.18.1 1.20.5 2.2.1 2.3.0"),),
    ),
    ConnectorPart(
        "mysql-cdc",
        "splits",
        "flink-connector-mysql-cdc",
        (
            Versions((2, 0), 2, 1, "2.0.2"),
            Versions((2, 1), 3, 1, "2.1.1"),
            Versions((2, 2), 4, 1, "2.2.1 2.3.0 2.4.2 3.0.1 3.1.1 3.2.0 3.5.0"),
        ),
    ),
    ConnectorPart(
        "mysql-cdc",
        "enumerator",
        "flink-connector-mysql-cdc",
        (
            Versions((2, 0), 2, 1, "2.0.2"),
            Versions((2, 1), 3, 1, "2.1.1 2.2.1"),
            Versions((2, 3), 5, 1, "2.3.0 2.4.2 3.0.1 3.1.1 3.2.0 3.5.0"),
        ),
    ),
    ConnectorPart(
        "postgres-cdc",
        "splits",
        "flink-cdc-base",
        (
            Versions((2, 4), 4, 4, "2.4.2 3.0.1"),
            Versions((3, 1), 5, 4, "3.1.1 3.2.1", partly=(4,), limit=_FINISHED),
            Versions((3, 4), 6, 4, "3.4.0 3.5.0", partly=(4,), limit=_FINISHED),
        ),
    ),
    ConnectorPart(
        "postgres-cdc",
        "enumerator",
        "flink-cdc-base",
        (
            Versions((2, 4), 5, 4, "2.4.2 3.0.1"),
            Versions((3, 1), 6, 4, "3.1.1 3.2.1", partly=(4, 5), limit=_FINISHED),
            Versions((3, 4), 8, 4, "3.4.0 3.5.0", partly=(4, 5), limit=_FINISHED),
        ),
    ),
    ConnectorPart(
        "pulsar",
        "splits",
        "flink-connector-pulsar",
        (
            Versions((1, 15), 0, 0, "1.15.2"),
            Versions((1, 16), 1, 0, "1.16.0 3.0.0-1.16 3.0.1-1.16"),
            Versions((4, 0), 2, 0, "4.0.0-1.17 4.1.0-1.18"),
        ),
    ),
    ConnectorPart(
        "pulsar",
        "enumerator",
        "flink-connector-pulsar",
        (
            Versions((1, 15), 0, 0, "1.15.2"),
            Versions((1, 16), 2, 0, "1.16.0 3.0.0-1.16 3.0.1-1.16"),
            Versions((4, 0), 3, 0, "4.0.0-1.17 4.1.0-1.18"),
        ),
    ),
    ConnectorPart(
        "pulsar",
        "committables",
        "flink-connector-pulsar",
        (Versions((1, 15), 1, 1, "1.15.2 1.16.0 3.0.0-1.16 3.0.1-1.16 4.0.0-1.17 4.1.0-1.18"),),
    ),
    ConnectorPart(
        "kinesis",
        "splits",
        "flink-connector-aws-kinesis-streams",
        (Versions((5, 0), 1, 0, ""),),
    ),
    ConnectorPart(
        "kinesis",
        "enumerator",
        "flink-connector-aws-kinesis-streams",
        (Versions((5, 0), 1, 0, ""),),
    ),
)
