"""Names and values of a stranger, in each command that prints them: none commands a terminal."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from support.commands import result_of
from support.each import each
from support.hostile_names import HOSTILE, hostile_savepoint
from support.terminal import Terminal

from savepoint_formats.printable import printable
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

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
NAMES_STATES = {
    *("describe PATH", "list PATH --output markdown", "schema PATH", "show PATH TABLE"),
    *("show PATH TABLE --output json", "show PATH TABLE --output csv", "stats PATH"),
    *("schema PATH TABLE --format ddl", "key PATH HOSTILE", "query PATH SQL"),
}
"""Commands that name each state, also one whose name has half a surrogate pair."""


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    return hostile_savepoint(tmp_path / "snapshots" / "savepoint-1")


@pytest.mark.usefixtures("slow")
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
    if command in NAMES_STATES:
        assert re.search(r"half \\+ud83d", result.stdout)
    if command.endswith("json"):
        assert all(json.loads(line) for line in result.stdout.splitlines())


@pytest.mark.usefixtures("slow")
@each("command", ("describe", "files", "stats"))
def test_what_names_of_a_stranger_share_commands_no_terminal(command: str, tmp_path: Path) -> None:
    uids = [f"{HOSTILE}.{name}" for name in ("card", "loan", "refund")]
    with Terminal((command, hostile_savepoint(tmp_path / command, uids))) as terminal:
        assert terminal.finish() == 0
    printed = re.sub(r"\x1b\[\d*m", "", terminal.raw)
    assert printable(printed, keep="\r\n") == printed
    assert "each operator begins with" in printed
    assert command != "files" or "  card 0: keyed state" in printed
