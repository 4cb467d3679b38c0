"""The samples, restored by Flink: what it then sees is what the jobs had put in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.flink_restore import (
    BACKENDS,
    RELEASES,
    FlinkRestore,
    KeyedState,
    Operator,
    RestoreError,
)
from support.sample_operators import (
    BUFFER,
    CURRENCY_CONVERTER,
    DEDUPLICATE,
    GROUP_AGGREGATE,
    SESSION,
    STATEFUL,
    SUMMARIZE,
    TUMBLING,
    TUMBLING_AGGREGATE,
    WINDOW_AGGREGATE,
    WINDOWS,
)
from support.sample_rows import Rows, Sample, in_order, rows_of

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

everywhere = pytest.mark.parametrize(
    ("flink", "backend"), [(flink, backend) for flink in RELEASES for backend in BACKENDS]
)


def sample_of(case: str, flink: str, backend: str = "hashmap") -> Sample:
    """A canonical savepoint, which may be restored on either backend."""
    return Sample(f"{case}-{flink}-{backend}-canonical")


def expected_windows(sample: Sample, uid: str) -> Rows:
    """The rows of window state, under the namespace that is stored."""
    return [
        {
            "namespace": row.get("namespace", row.get("state_window", row["window"])),
            **{name: cell for name, cell in row.items() if not name.endswith("window")},
        }
        for row in sample.operators()[uid]["window_state"]
    ]


def expected_timers(sample: Sample, uid: str) -> Rows:
    return in_order(sample.operators()[uid].get("timers", []))


@everywhere
def test_flink_sees_every_kind_of_keyed_state(
    flink_restore: FlinkRestore, flink: str, backend: str
) -> None:
    sample = sample_of("states", flink)
    restored = flink_restore(sample.path, STATEFUL, flink=flink, backend=backend)
    assert restored.keyed_state("stateful") == in_order(sample.keyed_state("stateful"))
    assert restored.timers("stateful") == expected_timers(sample, "stateful")
    assert restored.subtasks("stateful") == {0, 1, 2}


@everywhere
def test_flink_sees_broadcast_state_in_every_subtask(
    flink_restore: FlinkRestore, flink: str, backend: str
) -> None:
    sample = sample_of("currency", flink, "rocksdb")
    operators = (SUMMARIZE, CURRENCY_CONVERTER)
    restored = flink_restore(sample.path, *operators, flink=flink, backend=backend)
    assert restored.keyed_state("summarize") == in_order(sample.keyed_state("summarize"))
    rates = sample.elements("currency_converter", "rates")
    assert in_order(restored.elements("currency_converter", "rates")) == in_order(3 * rates)


@pytest.mark.parametrize("flink", RELEASES)
def test_flink_deals_out_list_state_and_gives_union_state_to_all(
    flink_restore: FlinkRestore, flink: str
) -> None:
    sample = sample_of("states", flink)
    restored = flink_restore(sample.path, BUFFER, flink=flink, parallelism=4)
    elements = restored.elements("buffer", "elements")
    assert sorted(elements) == sorted(sample.elements("buffer", "elements"))
    offsets = sample.elements("buffer", "offsets")
    assert in_order(restored.elements("buffer", "offsets")) == in_order(4 * offsets)


@everywhere
def test_flink_sees_what_is_in_windows(
    flink_restore: FlinkRestore, flink: str, backend: str
) -> None:
    sample = sample_of("windows", flink)
    restored = flink_restore(sample.path, *WINDOWS, flink=flink, backend=backend)
    for operator in WINDOWS:
        uid = operator.uid
        assert restored.window_state(uid) == in_order(expected_windows(sample, uid))
        assert restored.timers(uid) == expected_timers(sample, uid)
    windows_of = _sessions(restored.keyed_state("session"))
    assert windows_of == _sessions(sample.keyed_state("session"))


def _sessions(rows: Rows) -> dict[str, Rows]:
    """The sessions of each key, in whatever order Flink has them."""
    return {row["key"]: in_order(row["merging-window-set"]) for row in rows}


@everywhere
def test_windows_emit_their_contents_when_the_watermark_passes(
    flink_restore: FlinkRestore, flink: str, backend: str
) -> None:
    sample = sample_of("windows", flink, "rocksdb")
    operators = [one.real() for one in (TUMBLING, TUMBLING_AGGREGATE, SESSION)]
    restored = flink_restore(sample.path, *operators, flink=flink, backend=backend, ends=True)
    for operator in operators:
        rows = sample.operators()[operator.uid]["window_state"]
        assert restored.ended_windows(operator.uid) == in_order(
            {"key": row["key"], "window": row["window"], "contents": _contents(row)} for row in rows
        )


def _contents(row: dict[str, Any]) -> list[Any]:
    contents = row["window-contents"]
    return contents if isinstance(contents, list) else [contents]


@everywhere
def test_timers_fire_with_the_state_of_their_key(
    flink_restore: FlinkRestore, flink: str, backend: str
) -> None:
    sample = sample_of("states", flink, "rocksdb")
    operator = STATEFUL.firing()
    restored = flink_restore(sample.path, operator, flink=flink, backend=backend, ends=True)
    states = {row["key"]: row for row in sample.keyed_state("stateful")}
    nothing = dict.fromkeys(state.name for state in STATEFUL.states)
    assert restored.fired("stateful") == in_order(
        {
            "fired": timer["domain"],
            "key": timer["key"],
            "timestamp": timer["timestamp"],
            "states": {name: states.get(timer["key"], nothing)[name] for name in nothing},
        }
        for timer in expected_timers(sample, "stateful")
        if timer["domain"] == "event_time"
    )


@pytest.mark.parametrize("flink", RELEASES)
def test_flink_sees_the_state_of_sql_queries(flink_restore: FlinkRestore, flink: str) -> None:
    sample = sample_of("sql", flink)
    operators = (GROUP_AGGREGATE, WINDOW_AGGREGATE, DEDUPLICATE)
    restored = flink_restore(sample.path, *operators, flink=flink, backend="rocksdb")
    for uid in ("4_group-aggregate", "13_deduplicate"):
        assert restored.keyed_state(uid) == in_order(sample.keyed_state(uid))
    uid = "8_window-aggregate"
    assert restored.window_state(uid) == in_order(expected_windows(sample, uid))
    assert restored.timers(uid) == expected_timers(sample, uid)
    assert set(restored.elements(uid, "watermark")) == set(sample.elements(uid, "watermark"))


@everywhere
@pytest.mark.parametrize("form", ["canonical", "native"])
def test_what_flink_saves_again_is_read_as_before(
    flink_restore: FlinkRestore, tmp_path: Path, flink: str, backend: str, form: str
) -> None:
    sample = sample_of("states", flink)
    restored = flink_restore(
        sample.path,
        STATEFUL,
        BUFFER,
        flink=flink,
        backend=backend,
        resave=tmp_path,
        resave_format=form,
    )
    assert restored.savepoint is not None
    again = Savepoint.open(restored.savepoint, uids=["stateful", "buffer"])
    rows = in_order(rows_of(again.scan("stateful.keyed_state")))
    assert rows == in_order(sample.keyed_state("stateful"))
    assert again.operator("stateful").record.parallelism == 3
    elements = [row["value"] for row in rows_of(again.scan("buffer.elements"))]
    assert sorted(elements) == sorted(sample.elements("buffer", "elements"))


def test_flink_says_why_it_does_not_restore(flink_restore: FlinkRestore) -> None:
    sample = sample_of("currency", "2.2.1")
    wrong = Operator("summarize", key="INT", states=(KeyedState.value("total", "STRING"),))
    with pytest.raises(RestoreError, match="must not be incompatible"):
        flink_restore(sample.path, wrong, flink="2.2.1")


def test_state_is_gone_when_its_time_to_live_has_passed(flink_restore: FlinkRestore) -> None:
    sample = sample_of("states", "2.2.1")
    short = KeyedState.value("recent_memo", "STRING").with_ttl(1)
    long = KeyedState.value("last_id", "LONG")
    operator = Operator("stateful", key="STRING", states=(short, long))
    rows = flink_restore(sample.path, operator, flink="2.2.1").keyed_state("stateful")
    assert len(rows) == len(sample.keyed_state("stateful"))
    assert {row["recent_memo"] for row in rows} == {None}
