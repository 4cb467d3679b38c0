"""Changes of sources and sinks in files: they write what the commands write, and go first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import run
from support.kafka_states import COLLECTORS, SPLIT, WRITERS, bytes_savepoint

from savepoint_extensions.connectors.connector_changes import offset_rows
from savepoint_extensions.connectors.kafka.kafka_source import KafkaSplit
from state_processor import Savepoint, SchemaChangeError

if TYPE_CHECKING:
    from pathlib import Path

UIDS = ("orders", "sink", "committer")
END = '{"offset": 70, "stopping_offset": 70}'
OPTIONS = tuple(part for uid in UIDS for part in ("--uid", uid))


@pytest.fixture
def job(tmp_path: Path) -> Path:
    other = KafkaSplit("payments", 0, 7, 70).to_bytes()
    return bytes_savepoint(
        tmp_path / "job",
        {
            "orders": {"SourceReaderState": [SPLIT, other]},
            "sink": {"writer_raw_states": [WRITERS["3.4.0-1.20"]]},
            "committer": {"streaming_committer_raw_states": list(COLLECTORS.values())},
        },
    )


def answers(path: Path) -> list[Any]:
    """What the three commands show of a savepoint."""
    shown = []
    for command in ("kafka", "sources", "sinks"):
        code, text = run(command, path, *OPTIONS, "--output", "json")
        assert code == 0, text
        shown.append({**json.loads(text), "path": ""})
    return shown


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("kafka", ("--set-offsets", "OFFSETS", "--operator", "orders")),
        ("sources", ("--set", 'orders-3={"offset": 7}')),
        ("sinks", ("--drop", "kind = 'commit'")),
        ("sinks", ("--keep", "kind = 'writer'", "--transactional-prefix", "other")),
    ],
    ids=["kafka", "sources", "drop", "keep"],
)
def test_a_command_and_its_entry_write_the_same(
    command: str, options: tuple[str, ...], job: Path, tmp_path: Path
) -> None:
    offsets = tmp_path / "offsets.csv"
    offsets.write_text("topic,partition,offset\norders,3,4200\npayments,0,earliest\n")
    words = [str(offsets) if word == "OFFSETS" else word for word in options]
    code, entry = run(command, job, *words, *OPTIONS, "--print-change")
    assert code == 0, entry
    file, first, second = (tmp_path / name for name in ("changes.yaml", "first", "second"))
    file.write_text(entry)
    code, output = run(command, job, first, *words, *OPTIONS)
    assert code == 0, output
    code, output = run("apply", job, file, second, *OPTIONS)
    assert code == 0, output
    assert answers(first) == answers(second) != answers(job)


def test_several_changes_add_up_and_operators_have_their_new_names(
    job: Path, tmp_path: Path
) -> None:
    offset = {"topic": "orders", "partition": 3, "offset": 99}
    changed = Savepoint.open(str(job), uids=UIDS).apply(
        [
            {"rename-operator": {"old": "orders", "new": "purchases"}},
            {"kafka": {"set-offsets": [offset], "operator": "purchases"}},
            {"sources": {"set": {"payments-0": "70"}}},
            {"sinks": {"drop": "all"}},
            {"remove-operator": {"operator": "sink"}},
        ]
    )
    changed.write(str(tmp_path / "out"))
    written = Savepoint.open(str(tmp_path / "out"), uids=("purchases", "committer"))
    positions = {entry.split: entry.position for entry in written.sources().entries}
    assert positions == {"orders-3": '{"offset": 99}', "payments-0": END}
    assert {entry.operator for entry in written.sources().entries} == {"purchases"}
    assert written.sinks().entries == ()


def test_a_source_that_starts_anew_has_its_new_name(job: Path, tmp_path: Path) -> None:
    renamed = {"rename-operator": {"old": "orders", "new": "purchases"}}
    changed = Savepoint.open(str(job), uids=UIDS).apply(
        [renamed, {"sources": {"reset": ["purchases"]}}]
    )
    changed.write(str(tmp_path / "out"))
    assert Savepoint.open(str(tmp_path / "out")).sources().entries == ()


@pytest.mark.parametrize("option", [("--to-new", "orders"), ("--as-version", "2", "orders")])
def test_an_option_that_names_its_operator_goes_with_no_other(
    job: Path, tmp_path: Path, option: tuple[str, ...]
) -> None:
    code, output = run("sources", job, tmp_path / "out", *option, "--operator", "sink", *OPTIONS)
    assert (code, "name their operator themselves" in output) == (2, True), output


def test_positions_change_before_state(job: Path) -> None:
    kafka = {"kafka": {"set-offsets": [{"topic": "orders", "partition": 3, "offset": 99}]}}
    savepoint = Savepoint.open(str(job), uids=UIDS)
    removed = {"remove-state": {"operator": "orders", "state": "SourceReaderState"}}
    with pytest.raises(SchemaChangeError, match=r"put this change before the others; in change 2"):
        savepoint.apply([removed, kafka])
    savepoint.apply([kafka, removed])


def test_a_file_of_offsets_is_csv_in_utf_8(tmp_path: Path) -> None:
    file = tmp_path / "offsets.csv"
    file.write_bytes("\ufefftopic,partition,offset\nt,0,5\n".encode())
    assert offset_rows(file) == [{"topic": "t", "partition": "0", "offset": "5"}]
    file.write_bytes(b"topic\n\xff")
    with pytest.raises(ValueError, match="is not UTF-8 at byte 6"):
        offset_rows(file)
