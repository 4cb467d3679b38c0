"""``savepoint sources``: where sources go on, and savepoints whose sources go on elsewhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.cdc_sources import element, enumerator, position, stream
from support.commands import run
from support.kafka_states import SPLIT, bytes_savepoint

from savepoint_extensions.connectors.kafka.kafka_source import CoordinatorState
from savepoint_extensions.connectors.source_splits.cdc_splits import CdcForm

if TYPE_CHECKING:
    from pathlib import Path

UIDS = ("--uid", "orders", "--uid", "mysql")
FORM = CdcForm(False, 4)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    tables = {"orders": [10, 20]}
    state = CoordinatorState(1, enumerator(5, FORM, tables).to_versioned())
    return bytes_savepoint(
        tmp_path / "job",
        {
            "orders": {"SourceReaderState": [SPLIT]},
            "mysql": {"SourceReaderState": [element(stream(FORM, 30, tables, ""), FORM)]},
        },
        {"mysql": state.to_bytes()},
    )


def entries(path: Path) -> list[dict[str, object]]:
    code, text = run("sources", path, *UIDS, "--output", "json")
    assert code == 0
    answer: list[dict[str, object]] = json.loads(text)["entries"]
    return answer


def test_a_table_for_people_and_json_for_programs(job: Path) -> None:
    code, text = run("sources", job, *UIDS)
    assert code == 0
    assert "binlog-split" in text
    assert {entry["connector"] for entry in entries(job)} == {"kafka", "mysql-cdc"}


def test_changes_are_written(job: Path, tmp_path: Path) -> None:
    out, later = tmp_path / "out", position(99, is_base=False)
    change = ("sources", job, *UIDS, "--set", f"binlog-split={later}", "--set", "orders-3=7")
    command = (*change, "--release-finished", "--out", out)
    assert run(*command, "--dry-run")[0] == 0
    assert not out.exists()
    code, text = run(*command)
    assert code == 0, text
    positions = {entry["split"]: entry["position"] for entry in entries(out) if entry["position"]}
    assert positions["binlog-split"] == later
    assert positions["orders-3"] == '{"offset": 7}'
    assert [entry["split"] for entry in entries(out)].count("shop.orders:0") == 1
    assert "shop.orders:1" not in positions


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--release-finished",), 2, "a change needs OUT"),
        (("--out", "x"), 2, "OUT needs a change"),
        (("--set", "orders-3", "--out", "x"), 2, "expected a split and a position"),
        (("--set", "orders-3=-7", "--out", "x"), 2, "expected 0 or more"),
        (("--set", "orders-9=7", "--out", "x"), 2, "no reader with the split orders-9"),
        (("--stream-from", "{}", "--out", "x"), 1, "reads the stream"),
    ],
)
def test_wrong_calls(job: Path, options: tuple[str, ...], code: int, message: str) -> None:
    answer, text = run("sources", job, *UIDS, *options)
    assert message in " ".join(text.split())
    assert (answer == 2) is (code == 2)
