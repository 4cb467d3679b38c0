"""The feed has exactly the changes between two snapshots, so that applied to the first they give the second."""

from __future__ import annotations

import pickle
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hand_made import LONG, VOID
from support.kept_states import STATES, KeptState, savepoint_of_states
from support.longs_by_text import savepoint_of_longs
from support.slow_cases import slow_unless
from support.watched_jobs import incremental

from savepoint_database.checks import SavepointDiff
from savepoint_extensions.change_feed.change_feed import (
    ChangeFeed,
    as_texts,
    changes_in,
    pieces_of,
)
from savepoint_extensions.change_feed.feed_tables import Wanted, feed_tables
from savepoint_formats.errors import (
    OperatorNotFoundError,
    SavepointError,
    StateNotFoundError,
    StateTypeError,
)
from savepoint_formats.savepoint_warnings import UnknownUidWarning
from state_processor import Savepoint, StateChanges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


Keys = dict[str, KeptState]
Entries = dict[tuple[str, Any, Any, Any], Any]
"""State, key, namespace and key of a map -> the value."""

few = st.integers(0, 2)
texts = st.text("ab", max_size=2)
kept_states = st.builds(
    KeptState,
    total=st.none() | few,
    names=st.lists(texts, max_size=3).map(tuple),
    by_day=st.dictionaries(texts, st.none() | few, max_size=3),
    seen=st.none() | st.tuples(few, few),
    panes=st.dictionaries(st.sampled_from([(0, 10), (10, 20)]), few),
    timers=st.frozensets(st.integers(-1, 2), max_size=3),
)
keys_of_savepoints = st.dictionaries(texts, kept_states, max_size=6)


def opened(path: Path) -> Savepoint:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownUidWarning)
        return Savepoint.open(path, uids=["a", "b", "stateful", "buffer"])


def entries_of(keys: Mapping[str, KeptState]) -> Entries:
    entries: Entries = {}
    for key, kept in keys.items():
        if kept.total is not None:
            entries["total", key, None, None] = kept.total
        if kept.names:
            entries["names", key, None, None] = list(kept.names)
        entries |= {("by_day", key, None, day): count for day, count in kept.by_day.items()}
        if kept.seen is not None:
            entries["seen", key, None, None] = kept.seen[1]
        entries |= {("panes", key, window, None): count for window, count in kept.panes.items()}
        for time in kept.timers:
            entries["timers", key, None, time] = "event time"
    return entries


def changes_of(before: Entries, after: Entries) -> dict[Any, tuple[str, Any, Any]]:
    expected = {}
    for place in {**before, **after}:
        if place not in before:
            expected[place] = ("added", None, after[place])
        elif place not in after:
            expected[place] = ("removed", before[place], None)
        elif before[place] != after[place]:
            expected[place] = ("changed", before[place], after[place])
    return expected


def read(feed: ChangeFeed) -> dict[Any, tuple[str, Any, Any]]:
    """The typed changes of all states; each is there once."""
    changes: dict[Any, tuple[str, Any, Any]] = {}
    for name in feed.states:
        for row in feed.to_arrow(name).to_pylist():
            sides: tuple[Any, ...] = row["before"], row["after"]
            inner = row.get("map_key")
            if name == "a.timers":
                inner = next(side["timestamp"] for side in sides if side is not None)
                sides = tuple(None if side is None else "event time" for side in sides)
            window = row.get("namespace")
            place = (
                name.removeprefix("a."),
                row["key"],
                None if window is None else (window["start"], window["end"]),
                inner,
            )
            assert place not in changes, place
            changes[place] = (row["kind"], *sides)
    return changes


@pytest.mark.usefixtures("slow")
@given(
    before=keys_of_savepoints,
    after=keys_of_savepoints,
    parallelism=st.sampled_from([128, 5]),
)
def test_the_changes_are_those_of_dicts(
    tmp_path_factory: pytest.TempPathFactory, before: Keys, after: Keys, parallelism: int
) -> None:
    folder = tmp_path_factory.mktemp("changes")
    first = opened(savepoint_of_states(folder / "before", before))
    second = opened(savepoint_of_states(folder / "after", after, max_parallelism=parallelism))
    feed = first.changes(second)
    changes = read(feed)
    assert changes == changes_of(entries_of(before), entries_of(after))
    applied = entries_of(before)
    for place, (kind, _, value) in changes.items():
        if kind == "removed":
            del applied[place]
        else:
            applied[place] = value
    assert applied == entries_of(after)
    counts = Counter((place[0], kind) for place, (kind, _, _) in changes.items())
    assert feed.to_arrow().num_rows == len(changes)
    assert {
        (it.state, kind): getattr(it, kind)
        for it in feed.counts()
        for kind in ("added", "removed", "changed")
        if getattr(it, kind)
    } == counts
    as_counted_by_diff(first, second, changes)


def as_counted_by_diff(first: Savepoint, second: Savepoint, changes: Mapping[Any, Any]) -> None:
    """``diff`` counts the rows of tables: a row of ``keyed_state`` has all states of its key."""
    tables = {table.table: table for table in first.diff(second).tables}
    for state, table in (("panes", "a.window_state"), ("timers", "a.timers")):
        kinds = Counter(kind for place, (kind, _, _) in changes.items() if place[0] == state)
        assert kinds["added"] == tables[table].inserted
        assert kinds["removed"] == tables[table].deleted
        assert kinds["changed"] == tables[table].updated
    keys = {place[1] for place in changes if place[0] not in ("panes", "timers")}
    of_keys = tables["a.keyed_state"]
    assert len(keys) == of_keys.inserted + of_keys.deleted + of_keys.updated


def test_each_kind_of_one_state_is_counted_as_by_diff(tmp_path: Path) -> None:
    first, second = (
        opened(savepoint_of_states(tmp_path / name, keys, names=("total",)))
        for name, keys in {
            "before": {key: KeptState(total=1) for key in "abcdef"},
            "after": {
                **{key: KeptState(total=1) for key in "bcd"},
                "e": KeptState(2),
                "x": KeptState(3),
            },
        }.items()
    )
    (table,) = first.diff(second).tables
    assert (table.inserted, table.deleted, table.updated) == (1, 2, 1)
    assert first.changes(second).counts() == (StateChanges("a", "total", 1, 2, 1),)


def test_doubles_in_a_list_are_a_change(tmp_path: Path) -> None:
    before, after = savepoints(
        tmp_path, {"k": KeptState(names=("a", "a"))}, {"k": KeptState(names=("a",))}
    )
    (row,) = before.changes(after).to_arrow("a.names").to_pylist()
    assert row == {"key": "k", "before": ["a", "a"], "after": ["a"], "kind": "changed"}


def test_a_null_in_a_map_is_a_value(tmp_path: Path) -> None:
    before, after = savepoints(
        tmp_path, {"k": KeptState(by_day={"x": None})}, {"k": KeptState(by_day={"y": None, "x": 1})}
    )
    rows = before.changes(after).to_arrow("a.by_day").sort_by("map_key").to_pylist()
    assert rows == [
        {"key": "k", "map_key": "x", "before": None, "after": 1, "kind": "changed"},
        {"key": "k", "map_key": "y", "before": None, "after": None, "kind": "added"},
    ]


def test_a_map_in_another_order_and_moved_keys_are_no_change(tmp_path: Path) -> None:
    keys = {f"key {number}": KeptState(1, by_day={"a": 1, "b": 2}) for number in range(50)}
    turned = {key: KeptState(1, by_day={"b": 2, "a": 1}) for key in reversed(keys)}
    before = savepoint_of_states(tmp_path / "before", keys, max_parallelism=128)
    after = savepoint_of_states(tmp_path / "after", turned, max_parallelism=9)
    assert opened(before).changes(opened(after)).to_arrow().num_rows == 0


def test_only_another_time_of_access_is_a_change_if_times_are_wanted(tmp_path: Path) -> None:
    before, after = savepoints(
        tmp_path, {"k": KeptState(seen=(5, 7))}, {"k": KeptState(seen=(6, 7))}
    )
    assert before.changes(after).to_arrow().num_rows == 0
    (row,) = before.changes(after, with_times=True).to_arrow("a.seen").to_pylist()
    assert row["kind"] == "changed"
    assert [row[side]["timestamp"].microsecond for side in ("before", "after")] == [5000, 6000]


def test_an_operator_of_another_name_is_removed_and_added(tmp_path: Path) -> None:
    keys = {"k": KeptState(total=1), "l": KeptState(total=2)}
    before = savepoint_of_states(tmp_path / "before", keys, names=("total",))
    after = savepoint_of_states(tmp_path / "after", keys, names=("total",), uid="b")
    feed = opened(before).changes(opened(after))
    assert feed.counts() == (
        StateChanges("a", "total", 0, 2, 0),
        StateChanges("b", "total", 2, 0, 0),
    )
    assert opened(before).changes(opened(after), operator="b").states == ("b.total",)


def test_a_state_that_one_snapshot_lacks_is_added_as_a_whole(tmp_path: Path) -> None:
    keys = {"k": KeptState(1, ("x",), {"d": 1}), "l": KeptState(2)}
    before = savepoint_of_states(tmp_path / "before", keys, names=("total",))
    after = savepoint_of_states(tmp_path / "after", keys)
    feed = opened(before).changes(opened(after))
    assert {(it.state, it.added, it.removed, it.changed) for it in feed.counts()} == {
        ("names", 1, 0, 0),
        ("by_day", 1, 0, 0),
    }
    back = opened(after).changes(opened(before)).to_arrow("a.by_day").to_pylist()
    assert back == [{"key": "k", "map_key": "d", "before": 1, "after": None, "kind": "removed"}]


def test_another_type_is_an_error_unless_it_replaces(tmp_path: Path) -> None:
    types = {**STATES, "names": ("VALUE", LONG, VOID)}
    names = ("total", "names")
    old = {"k": KeptState(1, ("x", "y")), "l": KeptState(2)}
    before = opened(savepoint_of_states(tmp_path / "before", old, names=names))
    new = {"k": KeptState(1)}
    after = opened(savepoint_of_states(tmp_path / "after", new, names=names, types=types))
    with pytest.raises(StateTypeError, match=r"state a\.names has another type .*replace"):
        before.changes(after).to_arrow()
    assert before.changes(after, state="total").to_arrow().num_rows == 1
    replaced = before.changes(after, new_types="replace")
    assert replaced.schema("a.names").field("before").type == pa.list_(pa.string())
    assert replaced.schema("a.names").field("after").type == pa.int64()
    assert replaced.to_arrow("a.names").to_pylist() == [
        {"key": "k", "before": ["x", "y"], "after": None, "kind": "removed"}
    ]


def test_wrong_names_are_errors(tmp_path: Path) -> None:
    before, after = savepoints(tmp_path, {"k": KeptState(1)}, {"k": KeptState(2)})
    with pytest.raises(OperatorNotFoundError, match="nobody"):
        before.changes(after, operator="nobody").to_arrow()
    with pytest.raises(StateNotFoundError, match=r"no state 'tota'; there are: a\.total, "):
        before.changes(after, state="tota").to_arrow()
    with pytest.raises(StateNotFoundError, match=r"no state 'a\.tota' can be followed"):
        before.changes(after).to_arrow("a.tota")
    with pytest.raises(ValueError, match="new_types is 'maybe'"):
        before.changes(after, new_types="maybe")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after"),
    slow_unless(
        lambda pair: pair[0].startswith("states"),
        [
            ("states-1.20.5-hashmap-native", "states-2.2.1-rocksdb-heaptimers/chk-2"),
            ("windows-1.20.5-hashmap-canonical", "windows-2.2.1-rocksdb-native"),
            ("currency-1.20.5-hashmap-canonical", "currency-2.2.1-rocksdb-native"),
            ("sql-2.2.1-hashmap-canonical", "sql-1.20.5-rocksdb-native"),
        ],
    ),
)
def test_the_same_state_in_another_form_has_no_changes(
    samples: Path, before: str, after: str
) -> None:
    feed = opened(samples / before).changes(opened(samples / after))
    assert feed.states
    assert feed.to_arrow().num_rows == 0


def test_all_of_a_real_job_is_what_a_read_gives(samples: Path) -> None:
    """Another job has other operators, so all state of one is added: each row that a flat read has."""
    windows = opened(samples / "windows-2.2.1-rocksdb-native")
    states = opened(samples / "states-2.2.1-rocksdb-native")
    feed = windows.changes(states, operator="stateful")
    states = states.with_forms(undescribed_subclasses="bytes")
    rows = states.scan("stateful.keyed_state").to_arrow()
    for name in ("memos", "last_id", "customer", "last_seen"):
        changes = feed.to_arrow(f"stateful.{name}")
        there = rows.filter(rows[name].is_valid())
        assert changes["kind"].unique().to_pylist() == ["added"]
        assert by_key(changes, "after") == by_key(there, name), name
    for name in ("by_currency", "memo_by_currency", "changes"):
        flat = states.scan("stateful.keyed_state", flat=name).to_arrow()
        expected = {(row["key"], row["map_key"]): row["map_value"] for row in flat.to_pylist()}
        changes = feed.to_arrow(f"stateful.{name}").to_pylist()
        assert {(row["key"], row["map_key"]): row["after"] for row in changes} == expected, name
        assert len(changes) == len(expected)
    buffer = windows.changes(states, operator="buffer").to_arrow("buffer.elements")["after"]
    elements = states.scan("buffer.elements").to_arrow()["value"]
    assert Counter(buffer.to_pylist()) == Counter(elements.to_pylist())


def by_key(rows: pa.Table, column: str) -> dict[Any, str]:
    return {row["key"]: repr(row[column]) for row in rows.select(["key", column]).to_pylist()}


def savepoints(folder: Path, *sides: Keys) -> Iterator[Savepoint]:
    for number, keys in enumerate(sides):
        yield opened(savepoint_of_states(folder / str(number), keys))


@pytest.mark.usefixtures("slow")
def test_rules_of_paths_hold_for_the_other_snapshot(tmp_path: Path) -> None:
    first, second = (incremental(tmp_path / name, 5) for name in "ab")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shared = second.parent / "shared"
    shared.rename(elsewhere / "shared")
    shared.symlink_to(elsewhere / "shared")
    assert Savepoint.open(first).changes(second).counts() == ()
    strict = Savepoint.open(first, strict_paths=True)
    with pytest.raises(SavepointError, match="strict paths follow nothing out of"):
        strict.changes(second).counts()
    query = f"SELECT count(*) AS n FROM changes('{second}')"
    with pytest.raises(SavepointError, match="strict paths follow nothing out of"):
        strict.sql(query, allow_files=True)
    allowed = Savepoint.open(first, strict_paths=True, allow_paths=[elsewhere])
    assert allowed.changes(second).counts() == ()
    assert allowed.sql(query, allow_files=True).to_pylist() == [{"n": 0}]


def test_parts_that_tasks_read_have_all_changes_between_them(tmp_path: Path) -> None:
    totals = [{f"k{key}": key // step for key in range(300)} for step in (1, 2)]
    before, after = (
        Savepoint.open(savepoint_of_longs(tmp_path / str(step), own), uids=["a"])
        for step, own in enumerate(totals)
    )
    other = Savepoint.open(savepoint_of_longs(tmp_path / "b", {"k": 1}, uid="b"), uids=["b"])
    for later, least in ((after, 5), (other, 2)):
        diff = SavepointDiff(before, later, bucket_size=1000)
        feed = ChangeFeed(diff, Wanted())
        pieces = [
            piece for table in feed_tables(diff, Wanted()) for piece in pieces_of(diff, table)
        ]
        assert len(pieces) >= least
        rows = [
            row
            for piece in pickle.loads(pickle.dumps(pieces))
            for state, batch in changes_in(diff, piece)
            for row in as_texts(state, batch).to_pylist()
        ]
        assert sorted(rows, key=repr) == sorted(feed.to_arrow().to_pylist(), key=repr)
        assert len(rows) == 299 + 2 * (later is other)
