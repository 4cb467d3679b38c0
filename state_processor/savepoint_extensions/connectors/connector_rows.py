"""Rows of connectors, whose sources and sinks store bytes of their own format.

No state names its connector, so an element belongs to the first connector that reads all of its bytes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_extensions.connectors.kafka.versioned import Versioned

READER_STATE = "SourceReaderState"
"""List of the splits of a source's readers."""
WRITER_STATE = "writer_raw_states"
COMMITTER_STATE = "streaming_committer_raw_states"
BUCKET_STATE = "bucket-states"
"""List of the buckets of a ``StreamingFileSink``, which have the files that a ``FileSink`` would commit."""
TWO_PHASE_STATE = "state"
"""List of a ``TwoPhaseCommitSinkFunction``: the open transaction, and those to be committed."""

Facts = dict[str, str | int]
"""Name -> value of the facts that a user sees of a committable or of a writer's state."""


@dataclass(frozen=True, slots=True)
class SplitFacts:
    """Facts about a split that a user wants to know.

    Attributes:
        connector: Name of its connector.
        split: Its id, or the name of a table.
        kind: ``partition``, ``shard``, ``file``, ``range``, ``snapshot``, ``stream``, ``table``, … .
        position: Where its reader goes on, as JSON; empty where there is none.
        table: Its table or topic; empty where it has none or many.
        state: ``reading``, ``finished``, ``waiting``, … .
        facts: Other facts.
    """

    connector: str
    split: str
    kind: str
    position: str = ""
    table: str = ""
    state: str = "reading"
    facts: Facts = field(default_factory=dict)


def position_value(text: str) -> Any:
    """The JSON value of a position, or the text itself if it isn't JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


@dataclass(frozen=True, slots=True)
class SourceConnector:
    """A connector of a source.

    Attributes:
        name: Its name, which ``savepoint sources`` shows.
        split: Reads a split; raises ``FormatError`` for another connector's.
        enumerator: Reads the state of an enumerator likewise; None where it is not known.
        move: The split at another position, given as JSON; raises ``RefusedError``, ``ValueError``.
            None where positions can't be set.
        without: The state of an enumerator without the entries that fulfil a condition; raises
            ``RefusedError`` for what can't be written. None where entries can't be dropped.
    """

    name: str
    split: Callable[[Versioned, str], SplitFacts]
    enumerator: Callable[[Versioned, str], Iterator[SplitFacts]] | None = None
    move: Callable[[Versioned, Any, str], Versioned] | None = None
    without: Callable[[Versioned, Callable[[SplitFacts], bool], str], Versioned] | None = None


@dataclass(frozen=True, slots=True)
class SinkConnector:
    """A connector of a sink.

    Attributes:
        name: Its name, which ``savepoint sinks`` shows.
        committable: Reads a committable; raises ``FormatError`` for another connector's.
        writer: Reads the state of a writer likewise; None where it has none.
    """

    name: str
    committable: Callable[[Versioned, str], Facts]
    writer: Callable[[Versioned, str], Facts] | None = None
