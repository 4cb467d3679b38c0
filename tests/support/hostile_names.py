"""A savepoint of a stranger, whose names and values are commands for terminals, pages and agents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.layout import Long, Text, VoidNamespace
from savepoint_formats.metadata import (
    CheckpointMetadata,
    InlineStream,
    OperatorState,
    RelativeFile,
    SubtaskState,
)
from savepoint_formats.metadata.checkpoint import MetadataVersion
from state_processor import Savepoint
from support.hand_made import (
    LONG,
    MAX_PARALLELISM,
    STRING,
    canonical_base,
    encoded,
    entry_identity,
    group_of,
    header,
    kryo_of,
    map_of,
    meta_info,
)
from support.serializer_snapshots import pojo

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HOSTILE = (
    "a\x1b[2J\x1b]0;mine\x07\x9b31m\nError: gone\r\nWarning: x\u2028\u202ey\u2066\u200b\ufeff"
    "\U000e0041<script>alert(1)</script>[bold]x[/bold] %s{0} '\"` $(touch mine); DROP TABLE x --"
)

HALF = "\ud83d"
"""Half a surrogate pair, which Java writes into a state's name, and UTF-8 doesn't have."""


def hostile_savepoint(path: Path, uids: Sequence[str] = (HOSTILE,)) -> Path:
    """A savepoint whose operators, states, classes, fields, file, keys and values have the text."""
    path.mkdir(parents=True)
    values = (STRING, LONG, pojo(f"shop.{HOSTILE}", {HOSTILE: STRING, "n": LONG}))
    states = [meta_info(f"{HOSTILE}{n}", "VALUE", one) for n, one in enumerate(values)]
    states.append(meta_info("map", "MAP", map_of(STRING, LONG)))
    states.append(meta_info(f"half {HALF}", "VALUE", LONG))
    states.append(meta_info(f"more {HALF}", "MAP", map_of(STRING, LONG)))
    states.append(meta_info("unknown", "VALUE", kryo_of(f"shop.{HOSTILE}")))
    text, number = encoded(Text(), HOSTILE), encoded(Long(), 7)
    group = group_of(HOSTILE)
    identity = entry_identity(HOSTILE, None, (Text(), VoidNamespace()))
    stored = (text, number, b"\2\0" + text + b"\0" + number)
    entries = [(group, n, identity, value) for n, value in enumerate(stored)]
    base = canonical_base(header(*states), [*entries, (group, 3, identity + text, b"\0" + number)])
    assert isinstance(base.stream, InlineStream)
    data, file = base.stream.data, HOSTILE.replace("/", "_")
    (path / file).write_bytes(data)
    subtask = SubtaskState(
        0, managed_keyed_state=replace(base, stream=RelativeFile(file, len(data)))
    )
    operators = tuple(
        OperatorState(OperatorId.from_uid(uid), 1, MAX_PARALLELISM, (subtask,), uid=uid, name=uid)
        for uid in uids
    )
    view = DataOutputView()
    properties = Savepoint.open("sample_savepoints/currency-2.2.1-hashmap-canonical").metadata
    metadata = CheckpointMetadata.new(operators)
    replace(metadata, version=MetadataVersion.NEWEST, properties=properties.properties).write(view)
    (path / "_metadata").write_bytes(view.to_bytes())
    return path
