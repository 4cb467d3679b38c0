"""Forty operators with long names: every screen tells them apart at 80 and 120 columns."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from support.long_names import LARGEST, LONG, MANY_STATES, NAMES, job_of_long_names
from support.slow_cases import nightly_unless
from support.terminal import Terminal

from savepoint_formats.shared_names import leave_out_shared, without_shared

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UIDS = [LONG.format(name) for name in NAMES]
SHARED = "begins with com.acme.payments.risk.streaming. and ends with -v2--region-eu-west-1"


@pytest.fixture(scope="module")
def savepoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("long")
    yield job_of_long_names(folder)
    shutil.rmtree(folder)  # half a gigabyte


def test_what_all_names_share_is_left_out_and_noted() -> None:
    assert without_shared("operator", UIDS[:3], UIDS) == (
        list(NAMES[:3]),
        f"each operator {SHARED}",
    )


def test_the_table_of_an_operator_stays() -> None:
    tables = [f"{uid}.{table}" for uid in UIDS for table in ("keyed_state", "timers")]
    shown, note = without_shared("table", tables[:2], tables)
    assert shown == [f"{NAMES[0]}.keyed_state", f"{NAMES[0]}.timers"]
    assert note == f"each table {SHARED}"


def test_the_cells_of_rows_lose_what_all_names_of_their_column_share() -> None:
    rows: list[list[str | None]] = [[uid, uid, "7"] for uid in UIDS[:2]]
    rows.append([None, None, "8"])
    notes = leave_out_shared(rows, [(1, "operator")], lambda column: {"operator": UIDS}[column])
    assert notes == [f"each operator {SHARED}"]
    assert rows == [
        [UIDS[0], NAMES[0], "7"],
        [UIDS[1], NAMES[1], "7"],
        [None, "", "8"],
    ]


def test_the_names_in_the_rows_are_all_names_by_default() -> None:
    rows = [{"uid": uid} for uid in UIDS]
    assert leave_out_shared(rows, [("uid", "uid")]) == [f"each uid {SHARED}"]
    assert [row["uid"] for row in rows] == list(NAMES)
    few = [[uid] for uid in UIDS[:2]]
    assert leave_out_shared(few, [(0, "operator")]) == []
    assert few == [[uid] for uid in UIDS[:2]]


@pytest.mark.parametrize(
    "names",
    [
        ["orders", "payments", "refunds"],
        # Words are never cut, and two names share something by chance.
        ["reconciliation_a", "reconciliation_b"],
        ["transactions", "transactionslog", "transactionstate"],
        [],
    ],
)
def test_names_that_share_little_stay_whole(names: list[str]) -> None:
    assert without_shared("operator", names, names) == (names, "")


@pytest.mark.parametrize("columns", nightly_unless((80).__eq__, [80, 120]))
def test_describe_shows_the_largest_operators_on_a_screen(savepoint: Path, columns: int) -> None:
    with Terminal(("describe", savepoint), columns=columns) as terminal:
        assert terminal.finish() == 0
    lines = terminal.text.splitlines()
    assert len(lines) < 40
    largest = next(place for place, line in enumerate(lines) if line.startswith("─")) + 1
    shown = [line.split()[:2] for line in lines[largest : largest + 10]]
    assert shown[:2] == [[NAMES[LARGEST], "500,011,903"], [NAMES[MANY_STATES], "49,576"]]
    small = [name for name in NAMES if name not in (NAMES[LARGEST], NAMES[MANY_STATES])]
    assert [name for name, _ in shown[2:]] == small[:8]
    assert "10 of them; the others have 72,600 bytes" in terminal.text
    assert f"each operator {SHARED}" in terminal.text


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("command", ["list", "stats", "doctor --target 2.2"])
def test_operators_can_be_told_apart(savepoint: Path, command: str) -> None:
    name, *options = command.split()
    with Terminal((name, savepoint, *options), columns=80) as terminal:
        assert terminal.finish() == 0
    assert f" {SHARED}" in terminal.text
    of_stats = (NAMES[LARGEST], NAMES[MANY_STATES])
    for operator in of_stats if name == "stats" else NAMES[:10]:
        assert any(line.startswith(operator) for line in terminal.text.splitlines()), operator


@pytest.mark.usefixtures("slow")
def test_files_tell_the_operators_that_refer_to_them(savepoint: Path) -> None:
    with Terminal(("files", savepoint), columns=80) as terminal:
        assert terminal.finish() == 0
    lines = terminal.text.splitlines()
    (place,) = (place for place, line in enumerate(lines) if line.startswith("pictures "))
    assert (
        f"{lines[place].split()[-2]} {lines[place + 1].strip()}" == f"{NAMES[LARGEST]} keyed state"
    )
    assert f"each operator {SHARED}" in terminal.text


@pytest.mark.usefixtures("slow")
def test_the_types_of_a_table_are_not_cut(savepoint: Path) -> None:
    with Terminal(("schema", savepoint, f"{UIDS[0]}.keyed_state"), columns=80) as terminal:
        assert terminal.finish() == 0
    assert "customer           STRUCT<address: STRUCT<city: STRING, zip: INT>," in terminal.text
    assert "tags: ARRAY<STRING>>" in terminal.text
    assert "…" not in terminal.text


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("columns", nightly_unless((80).__eq__, [80, 120]))
def test_find_names_the_operator_and_not_the_snapshot_again(savepoint: Path, columns: int) -> None:
    with Terminal(("find", savepoint, "customer-005"), columns=columns) as terminal:
        assert terminal.finish() == 0
    assert any(line.startswith(f"{NAMES[MANY_STATES]}  ") for line in terminal.text.splitlines())
    assert f"each operator {SHARED}" in terminal.text
    assert "snapshot" not in terminal.text
