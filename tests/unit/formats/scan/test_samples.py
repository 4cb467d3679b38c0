"""Every state of every sample, read as Arrow, is what its job put in."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from support.sample_rows import Sample, in_order, rows_of, samples, with_columns
from support.slow_cases import nightly_unless, stands_for_others

from savepoint_formats.state_files.state import StateKind

TIMER_SERVICES = {"stateful": "user-timers"}
MODES = {
    "list": StateKind.OPERATOR_LIST,
    "union": StateKind.UNION_LIST,
    "broadcast": StateKind.BROADCAST,
}

pytestmark = [
    pytest.mark.usefixtures("both_ways"),
    pytest.mark.parametrize(
        ("both_ways", "sample"),
        nightly_unless(
            lambda case: case[0] == "machine code" or stands_for_others(case[1]),
            product(("machine code", "interpreted"), samples()),
        ),
        indirect=["both_ways"],
        ids=str,
    ),
]


def with_sorted_windows(row: dict[str, Any]) -> dict[str, Any]:
    """The row with the windows of a session in order: Flink has them in that of a hash map."""
    windows = row.get("merging-window-set")
    return row if windows is None else {**row, "merging-window-set": sorted(windows, key=str)}


def test_each_operator_with_state_has_its_tables(sample: Sample) -> None:
    savepoint = sample.open()
    for uid, state in sample.operators().items():
        tables = {table.name for table in savepoint.operator(uid).tables}
        names = {name for name in state if name != "operator_states"}
        assert names | set(state.get("operator_states", ())) <= tables


def test_what_the_job_did_not_put_in_is_not_there(sample: Sample) -> None:
    savepoint = sample.open()
    for operator in savepoint.operators():
        state = sample.operators().get(operator.name, {})
        expected = set(state) | set(state.get("operator_states", ()))
        for table in operator.tables:
            if table.name not in expected and not table.states[0].kind.is_raw:
                assert rows_of(savepoint.scan(f"{operator.name}.{table.name}")) == []


def test_keyed_state(sample: Sample) -> None:
    savepoint = sample.open()
    for uid, state in sample.operators().items():
        if "keyed_state" in state:
            scan = savepoint.scan(f"{uid}.keyed_state")
            expected = with_columns(sample.keyed_state(uid), scan.schema.names)
            found = rows_of(scan)
            assert in_order(map(with_sorted_windows, found)) == in_order(
                map(with_sorted_windows, expected)
            )


def test_window_state(sample: Sample) -> None:
    savepoint = sample.open()
    for uid, state in sample.operators().items():
        if "window_state" in state:
            scan = savepoint.scan(f"{uid}.window_state")
            expected = with_columns(sample.window_state(uid), scan.schema.names)
            assert in_order(rows_of(scan)) == in_order(expected)


def test_timers(sample: Sample) -> None:
    savepoint = sample.open()
    for uid, state in sample.operators().items():
        if "timers" in state:
            rows = rows_of(savepoint.scan(f"{uid}.timers"))
            services = {row.pop("service") for row in rows}
            found = [{"domain": row.pop("time_domain"), **row} for row in rows]
            assert in_order(found) == in_order(sample.timers(uid))
            assert services == {TIMER_SERVICES.get(uid, "window-timers")}


def test_operator_state(sample: Sample) -> None:
    savepoint = sample.open()
    for uid, state in sample.operators().items():
        for name, described in state.get("operator_states", {}).items():
            scan = savepoint.scan(f"{uid}.{name}")
            assert scan.kind is MODES[described["mode"]]
            rows = rows_of(scan)
            if scan.kind is StateKind.BROADCAST:
                assert in_order(rows) == in_order(sample.elements(uid, name))
            else:
                assert [row["value"] for row in rows] == sample.elements(uid, name)
