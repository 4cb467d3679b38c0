"""Connectors whose committables and writers' states are known.

| connector | committable                                | state of a writer               |
|-----------|--------------------------------------------|---------------------------------|
| file      | file to be finished, or to be deleted      | bucket and its in-progress file |
| kafka     | transaction of a producer                  | prefix of transactional ids     |
| pulsar    | transaction of a topic                     |                                 |
| iceberg   | manifest of a checkpoint                   |                                 |
| paimon    | changes of a checkpoint                    |                                 |

A row of ``CONNECTORS`` adds a connector, and so does a plug-in. No state names its connector, so an
element belongs to the first connector that reads all of its bytes.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from savepoint_extensions.connectors.connector_rows import SinkConnector
from savepoint_extensions.connectors.plug_in_connectors import PlugInFailedError, of_plug_ins
from savepoint_extensions.connectors.sinks import file_sink, kafka_sink, pulsar_sink, table_sinks
from savepoint_formats.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_extensions.connectors.connector_rows import Facts
    from savepoint_extensions.connectors.kafka.versioned import Versioned

CONNECTORS = (
    SinkConnector("file", file_sink.committable, file_sink.bucket),
    SinkConnector("kafka", kafka_sink.committable, kafka_sink.writer),
    SinkConnector("pulsar", pulsar_sink.committable),
    SinkConnector("iceberg", table_sinks.iceberg_committable),
    SinkConnector("paimon", table_sinks.paimon_committable),
)

UNKNOWN = "unknown"


def read_committable(committable: Versioned, path: str) -> tuple[str, Facts, str]:
    """Connector, facts, and the reason why there are none."""
    return _first(committable, path, lambda known: known.committable)


def read_writer(state: Versioned, path: str) -> tuple[str, Facts, str]:
    """Connector, facts, and the reason why there are none."""
    return _first(state, path, lambda known: known.writer)


def _first(
    versioned: Versioned,
    path: str,
    reader_of: Callable[[SinkConnector], Callable[[Versioned, str], Facts] | None],
) -> tuple[str, Facts, str]:
    failures, names = list[str](), list[str]()
    for known in chain(CONNECTORS, of_plug_ins(SinkConnector, CONNECTORS)):
        read = reader_of(known)
        if read is None:
            continue
        names.append(known.name)
        try:
            return known.name, read(versioned, path), ""
        except PlugInFailedError as error:
            failures.append(error.message)
        except FormatError:
            continue
    reason = f"version {versioned.version}, of none of the connectors {', '.join(names)}"
    return UNKNOWN, {}, "; ".join([reason, *failures])
