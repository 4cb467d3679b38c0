"""Types that the user tells make columns of a PyFlink job's state; without them pickles are shown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.pyflink_jobs import SAMPLE, TYPES, UIDS, expect_equal, keyed, rows, states_of

from savepoint_formats.errors import DescriptionError, FormatError, OperatorNotFoundError
from state_processor import Savepoint


@pytest.mark.parametrize("uid", ["by_long", "by_text", "by_row", "by_tuple"])
def test_state_is_what_the_job_had(uid: str) -> None:
    expect_equal(keyed(SAMPLE, uid), states_of(SAMPLE, uid))


def test_broadcast_windows_and_timers_have_the_types_of_the_job() -> None:
    (told,) = states_of(SAMPLE, "with_rules").values()
    shown = {row["key"]: row["value"] for row in rows(SAMPLE, "with_rules.rules")}
    assert shown == told["rules"]
    (window, *_) = rows(SAMPLE, "windows.window_state")
    assert window["key"] == window["window-contents"][0]["key"]
    assert {row["key"] for row in rows(SAMPLE, "by_long.timers")} == {1, 2, 3}


def test_without_types_pickles_are_shown_and_other_bytes_have_a_reason() -> None:
    (row, *_) = rows(SAMPLE, "by_text.keyed_state", types=None)
    (value,) = row["any"]
    told = states_of(SAMPLE, "by_text")[repr(row["key"])]
    assert json.loads(value["json"])["n"] == told["any"]["n"]
    assert [json.loads(item["json"]) for item in row["list"]] == told["list"]
    (row, *_) = rows(SAMPLE, "by_long.keyed_state", types=None)
    (value,) = row["total"]
    assert (value["json"], len(value["bytes"])) == (None, 8)
    assert "--types" in value["reason"]


def test_states_are_listed_as_the_job_has_them() -> None:
    described = Savepoint.open(SAMPLE, uids=UIDS, types=TYPES).describe()
    kinds = {(state.operator, state.state): state.kind for state in described.states()}
    assert kinds["by_long", "total"] == "value"
    assert kinds["by_long", "seen"] == "list"
    assert kinds["by_long", "counts"] == "map"


@pytest.mark.parametrize(
    ("types", "error"),
    [
        ({"nobody": {"total": "Types.LONG()"}}, OperatorNotFoundError),
        ({"by_long": {"total": "Types.LONGS()"}}, DescriptionError),
        ({"by_long": {"total": "MapState(Types.LONG(), Types.LONG())"}}, DescriptionError),
        ({"by_row": {"key": "Types.ROW_NAMED(['a'], [Types.LONG()])"}}, ValueError),
    ],
)
def test_types_that_do_not_fit_are_refused(types: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        rows(SAMPLE, f"{next(iter(types))}.keyed_state", types)


def test_a_wrong_type_is_an_error_with_the_state() -> None:
    with pytest.raises(FormatError, match="state 'python-state-total'") as raised:
        rows(SAMPLE, "by_long.keyed_state", {"by_long": {"total": "Types.STRING()"}})
    assert "by_long" in str(raised.value)
