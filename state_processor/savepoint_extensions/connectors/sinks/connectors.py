"""Connectors whose committables and writers' states are known.

| connector | committable                                | state of a writer               |
|-----------|--------------------------------------------|---------------------------------|
| file      | file to be finished, or to be deleted      | bucket and its in-progress file |
| kafka     | transaction of a producer                  | prefix of transactional ids     |
| iceberg   | manifest of a checkpoint                   |                                 |
| paimon    | changes of a checkpoint                    |                                 |

A row of ``CONNECTORS`` adds a connector. No state names its connector, so an element belongs to
the first connector that reads all of its bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_extensions.connectors.sinks import file_sink, kafka_sink, table_sinks
from savepoint_formats.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_extensions.connectors.kafka.versioned import Versioned

Facts = dict[str, str | int]
"""Name -> value of the facts that a user sees of a committable or of a writer's state."""


@dataclass(frozen=True, slots=True)
class SinkConnector:
    """A connector of a sink.

    Attributes:
        committable: Reads a committable; raises ``FormatError`` for another connector's.
        writer: Reads the state of a writer likewise; None where it has none.
    """

    name: str
    committable: Callable[[Versioned, str], Facts]
    writer: Callable[[Versioned, str], Facts] | None = None


CONNECTORS = (
    SinkConnector("file", file_sink.committable, file_sink.bucket),
    SinkConnector("kafka", kafka_sink.committable, kafka_sink.writer),
    SinkConnector("iceberg", table_sinks.iceberg_committable),
    SinkConnector("paimon", table_sinks.paimon_committable),
)

UNKNOWN = "unknown"


def read_committable(committable: Versioned, path: str) -> tuple[str, Facts, str]:
    """Connector, facts, and the reason why there are none."""
    return _first(committable, path, [(known.name, known.committable) for known in CONNECTORS])


def read_writer(state: Versioned, path: str) -> tuple[str, Facts, str]:
    """Connector, facts, and the reason why there are none."""
    readers = [(known.name, known.writer) for known in CONNECTORS if known.writer]
    return _first(state, path, readers)


def _first(
    versioned: Versioned, path: str, readers: list[tuple[str, Callable[[Versioned, str], Facts]]]
) -> tuple[str, Facts, str]:
    for name, read in readers:
        try:
            return name, read(versioned, path), ""
        except FormatError:
            continue
    names = ", ".join(name for name, _ in readers)
    return UNKNOWN, {}, f"version {versioned.version}, of none of the connectors {names}"
