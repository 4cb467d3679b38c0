"""The shop's queue: where its sources continue, and what its sinks have yet to commit.

| bytes of a split      | u8 length and name of the queue, u64 next number |
| bytes of a committable| u8 length and name of the queue, u32 messages    |
"""

from __future__ import annotations

import json
from typing import Any

from state_processor.plugins import (
    DataInputView,
    DataOutputView,
    FormatError,
    RefusedError,
    SinkConnector,
    SourceConnector,
    SplitFacts,
    Versioned,
)

NAME = "shop-queue"
_VERSION = 71


def _open(versioned: Versioned, path: str) -> tuple[str, DataInputView]:
    """The name of the queue, and a view of what follows."""
    if versioned.version != _VERSION:
        raise FormatError(f"version {versioned.version}, expected {_VERSION}", path, 0)
    view = DataInputView(versioned.data, path)
    name = view.read_bytes(view.read_unsigned_byte()).decode("ascii", "replace")
    return name, view


def read_split(versioned: Versioned, path: str) -> SplitFacts:
    """A split: its queue, and the number of the next message."""
    queue, view = _open(versioned, path)
    position = json.dumps({"next": view.read_long()})
    view.expect_end()
    return SplitFacts(NAME, queue, "queue", position, queue)


def move_split(versioned: Versioned, position: Any, path: str) -> Versioned:
    """The split at another message."""
    queue, _ = _open(versioned, path)
    number = position.get("next") if isinstance(position, dict) else position
    if not isinstance(number, int) or number < 0:
        raise RefusedError(f"{json.dumps(position)}, expected the number of a message")
    view = DataOutputView()
    view.write_byte(len(queue))
    view.write_bytes(queue.encode("ascii"))
    view.write_long(number)
    return Versioned(_VERSION, view.to_bytes())


def read_committable(versioned: Versioned, path: str) -> dict[str, str | int]:
    """Messages that a sink has yet to commit."""
    queue, view = _open(versioned, path)
    messages = view.read_int()
    view.expect_end()
    return {"queue": queue, "messages": messages}


ROWS = [
    SourceConnector(NAME, read_split, move=move_split),
    SinkConnector(NAME, read_committable),
]
