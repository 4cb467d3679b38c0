"""Names and values of a stranger, in each command that prints them: none commands a terminal."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.commands import result_of
from support.each import each
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
from savepoint_formats.printable import printable
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = (
    "a\x1b[2J\x1b]0;mine\x07\x9b31m\nError: gone\r\nWarning: x\u2028\u202ey\u2066\u200b\ufeff"
    "\U000e0041<script>alert(1)</script>[bold]x[/bold] %s{0} '\"` $(touch mine); DROP TABLE x --"
)
FILE = HOSTILE.replace("/", "_")

COMMANDS = (
    *("describe PATH", "describe PATH --output json", "list PATH", "list PATH --output markdown"),
    *("schema PATH", "schema PATH --output json", "schema PATH TABLE --format pyflink"),
    *("schema PATH TABLE --format ddl", "show PATH TABLE", "show PATH TABLE --output json"),
    *("show PATH TABLE --output csv", "show PATH TABLE --output vertical", "files PATH"),
    *("show PATH TABLE --output markdown", "show PATH TABLE --key HOSTILE", "verify PATH"),
    *("stats PATH", "stats PATH TABLE", "doctor PATH --target 2.2", "diff PATH OTHER"),
    *("key PATH HOSTILE", "find PATH HOSTILE", "snapshots FOLDER", "mask PATH --suggest"),
    *("history FOLDER TABLE --key HOSTILE", "gc FOLDER", "classes PATH", "copy PATH OUT"),
    *("query PATH SQL", "show PATH HOSTILE", "show PATH nothing", "describe HOSTILE"),
)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A savepoint whose operator, states, classes, fields, file, keys and values have the text."""
    path = tmp_path / "snapshots" / "savepoint-1"
    path.mkdir(parents=True)
    values = (STRING, LONG, pojo(f"shop.{HOSTILE}", {HOSTILE: STRING, "n": LONG}))
    states = [meta_info(f"{HOSTILE}{n}", "VALUE", one) for n, one in enumerate(values)]
    states.append(meta_info("map", "MAP", map_of(STRING, LONG)))
    states.append(meta_info("unknown", "VALUE", kryo_of(f"shop.{HOSTILE}")))
    text, number = encoded(Text(), HOSTILE), encoded(Long(), 7)
    group = group_of(HOSTILE)
    identity = entry_identity(HOSTILE, None, (Text(), VoidNamespace()))
    stored = (text, number, b"\2\0" + text + b"\0" + number)
    entries = [(group, n, identity, value) for n, value in enumerate(stored)]
    base = canonical_base(header(*states), [*entries, (group, 3, identity + text, b"\0" + number)])
    assert isinstance(base.stream, InlineStream)
    data = base.stream.data
    (path / FILE).write_bytes(data)
    operator = OperatorState(
        OperatorId.from_uid(HOSTILE),
        1,
        MAX_PARALLELISM,
        (SubtaskState(0, managed_keyed_state=replace(base, stream=RelativeFile(FILE, len(data)))),),
        uid=HOSTILE,
        name=HOSTILE,
    )
    view = DataOutputView()
    properties = Savepoint.open("sample_savepoints/currency-2.2.1-hashmap-canonical").metadata
    metadata = CheckpointMetadata.new((operator,))
    replace(metadata, version=MetadataVersion.NEWEST, properties=properties.properties).write(view)
    (path / "_metadata").write_bytes(view.to_bytes())
    return path


@each("command", COMMANDS)
def test_no_text_of_a_stranger_commands_a_terminal(
    command: str, hostile: Path, samples: Path
) -> None:
    (table,) = (it for it in Savepoint.open(hostile).tables() if "keyed_state" in it.table)
    words = {
        "PATH": str(hostile),
        "OTHER": str(samples / "currency-2.2.1-hashmap-canonical"),
        "FOLDER": str(hostile.parent),
        "OUT": str(hostile.parents[1] / "out"),
        "TABLE": table.table,
        "SQL": f"SELECT * FROM {table.sql}",
        "HOSTILE": HOSTILE,
    }
    result = result_of(*(words.get(word, word) for word in command.split()))
    is_wrong = (
        command.endswith(("nothing", "HOSTILE"))
        and "--key" not in command
        and command.startswith(("show", "desc"))
    )
    assert result.exit_code in ((1, 2) if is_wrong else (0, 3)), result.stderr
    assert "Traceback" not in result.output
    for printed in (result.stdout, result.stderr):
        assert printable(printed, keep="\n\t") == printed
        # A line break of a name would begin a line of its own; SQL has it between its quotes.
        assert (
            "ddl" in command
            or re.search(r"^(Error: gone|Warning: x)", printed, re.MULTILINE) is None
        )
    if command.endswith("json"):
        assert all(json.loads(line) for line in result.stdout.splitlines())
