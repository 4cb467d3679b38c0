"""Sizes of state are those of the rows that are read, or of bytes counted by hand."""

from __future__ import annotations

import pickle
import struct
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.sample_rows import SAMPLES, Sample, copy_of, file_of
from support.slow_cases import fast_few

from savepoint_extensions.sizes import operator_statistics
from savepoint_extensions.sizes.weighing import statistics_of
from savepoint_formats.errors import StateNotFoundError
from savepoint_formats.metadata import KeyGroupsHandle

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from savepoint_extensions.sizes.keyed_statistics import KeyedCounts
    from savepoint_extensions.sizes.operator_statistics import WeighedOperator
    from savepoint_extensions.sizes.statistics import SavepointStatistics, StateStatistics
    from savepoint_formats.state_files.state import State
    from state_processor import Savepoint

STATEFUL = [
    "states-1.20.5-hashmap-changelog",
    "states-1.20.5-hashmap-compressed",
    "states-1.20.5-hashmap-native",
    "states-2.2.1-hashmap-canonical",
    "states-2.2.1-rocksdb-heaptimers",
    "states-2.2.1-rocksdb-incremental",
]
WINDOWS = [path.name for path in sorted(SAMPLES.glob("windows-*"))]


def opened(name: str) -> Savepoint:
    return Sample(name).open()


def rows(savepoint: Savepoint, table: str, **options: Any) -> pd.DataFrame:
    """All rows of a table, as pandas has them."""
    scan = savepoint.scan(table, **options)
    batches = [batch for split in scan.splits() for batch in scan.read(split)]
    records = pa.Table.from_batches(batches, scan.schema).to_pylist()
    return pd.DataFrame.from_records(records, columns=scan.schema.names)


def states(report: SavepointStatistics, table: str) -> dict[str, StateStatistics]:
    return {one.state: one for one in report.states if f"{one.operator}.{one.table}" == table}


@pytest.mark.parametrize("name", fast_few(STATEFUL))
def test_keys_entries_items_and_nulls_are_those_of_the_rows(name: str) -> None:
    savepoint = opened(name)
    read = rows(savepoint, "stateful.keyed_state")
    found = states(savepoint.stats(), "stateful.keyed_state")
    assert set(found) == set(read.columns) - {"key"}
    for state, told in found.items():
        values = read[state].dropna()
        assert (told.keys, told.rows) == (len(values), len(values)), state
        if told.kind not in ("list", "map"):
            assert told.entries == len(values)
            continue
        sizes = values.map(len).to_numpy()
        assert told.items is not None
        assert told.entries == (sizes.sum() if told.kind == "map" else len(values))
        assert told.items.total == sizes.sum()
        assert (told.items.min, told.items.max) == (sizes.min(), sizes.max())
        assert told.items.mean == pytest.approx(sizes.mean())
        median, high = np.quantile(sizes, [0.5, 0.99], method="inverted_cdf")
        assert (told.items.p50, told.items.p99) == (median, high)
        if told.kind == "map":
            nulls = sum(item is None for entries in values for _, item in entries)
            assert told.nulls == nulls
            assert told.null_share == pytest.approx(nulls / sizes.sum())


@pytest.mark.parametrize("name", fast_few(STATEFUL))
def test_key_groups_and_skew_are_those_of_the_rows(name: str) -> None:
    savepoint = opened(name)
    tables = ("stateful.keyed_state", "stateful.timers")
    read = pd.concat(
        rows(savepoint, table, columns=["key"], with_key_group=True, with_subtask=True)
        for table in tables
    ).drop_duplicates()
    report = savepoint.stats()
    expected = read.groupby("key_group").size()
    told = {one.key_group: one.keys for one in report.key_groups if one.operator == "stateful"}
    assert told == expected.to_dict()
    subtasks = {one.subtask: one.keys for one in report.subtasks}
    assert subtasks == read.groupby("subtask").size().to_dict()
    maximum = savepoint.operator("stateful").record.max_parallelism
    counts = expected.reindex(range(maximum), fill_value=0).to_numpy()
    (skew,) = (one for one in report.skew if one.over == "key groups")
    assert skew.keys_max_over_mean == pytest.approx(counts.max() / counts.mean())
    apart = np.abs(np.subtract.outer(counts, counts)).sum()
    assert skew.keys_gini == pytest.approx(apart / (2 * len(counts) ** 2 * counts.mean()))


@pytest.mark.parametrize("name", fast_few(STATEFUL))
def test_timers_are_overdue_as_the_rows_say(name: str) -> None:
    savepoint = opened(name)
    read = rows(savepoint, "stateful.timers")
    at = read["timestamp"].sort_values().iloc[len(read) // 2]
    report = savepoint.stats("stateful.timers", at=datetime.fromtimestamp(at / 1000, UTC))
    for told in report.timers:
        own = read[read["time_domain"] == told.time_domain]
        assert (told.timers, told.keys) == (len(own), own["key"].nunique())
        # Of event time nobody but the job knows how late it is.
        has_clock = told.time_domain == "PROCESSING_TIME"
        assert told.overdue == ((own["timestamp"] <= at).sum() if has_clock else None)
        assert (told.overdue_share is None) == (not has_clock)
        assert told.resolution_ms == 1
        for text, expected in (
            (told.earliest, own["timestamp"].min()),
            (told.median, own["timestamp"].quantile(interpolation="lower")),
            (told.latest, own["timestamp"].max()),
        ):
            assert text is not None
            assert datetime.fromisoformat(text).timestamp() * 1000 == expected
        assert sum(span.timers for span in told.spans) == len(own)


@pytest.mark.parametrize("name", fast_few(STATEFUL))
def test_values_expire_as_their_times_of_access_say(name: str) -> None:
    savepoint = opened(name)
    read = rows(savepoint, "stateful.keyed_state", with_times=True)
    times = {
        "recent_memo": [one["timestamp"] for one in read["recent_memo"].dropna()],
        "recent_memos": [
            one["timestamp"] for memos in read["recent_memos"].dropna() for one in memos
        ],
        "recent_by_currency": [
            one["timestamp"] for found in read["recent_by_currency"].dropna() for _, one in found
        ],
    }
    life = timedelta(hours=1)
    moments = sorted(moment for found in times.values() for moment in found)
    at = moments[len(moments) // 2] + life
    report = savepoint.stats("stateful.keyed_state", at=at, ttl=dict.fromkeys(times, life))
    for state, told in states(report, "stateful.keyed_state").items():
        if state not in times:
            assert (told.expired, told.first_access) == (None, None)
            continue
        expired = sum(moment + life <= at for moment in times[state])
        assert told.expired == expired
        assert told.expired_share == pytest.approx(expired / len(times[state]))
        assert datetime.fromisoformat(str(told.first_access)) == min(times[state])
        assert datetime.fromisoformat(str(told.last_access)) == max(times[state])
    saved = {
        row.state: row for row in savepoint.stats("stateful.keyed_state", at=at, ttl_of=life).ttl
    }
    assert {state for state, row in saved.items() if row.size is not None} == set(times)
    for state in times:
        lists = read[state].dropna()
        if state != "recent_memo":
            unpacked = [
                [one if state == "recent_memos" else one[1] for one in row] for row in lists
            ]
            gone = sum(all(one["timestamp"] + life <= at for one in row) for row in unpacked)
        else:
            gone = sum(one["timestamp"] + life <= at for one in lists)
        assert saved[state].rows == gone


@pytest.mark.parametrize("name", fast_few(WINDOWS))
def test_windows_are_rows_of_their_own(name: str) -> None:
    savepoint = opened(name)
    report = savepoint.stats()
    tables = {
        f"{one.operator}.{one.table}"
        for one in report.states
        if one.table.startswith("window_state")
    }
    assert tables
    for table in tables:
        read = rows(savepoint, table)
        for state, told in states(report, table).items():
            own = read[read[state].notna()]
            assert (told.rows, told.keys) == (len(own), own["key"].map(str).nunique())


@pytest.mark.usefixtures("slow")
def test_all_formats_weigh_the_same() -> None:
    def told(name: str) -> Any:
        report = opened(name).stats(at=datetime(2050, 1, 1, tzinfo=UTC))
        # Behind a null in a map, RocksDB may keep bytes that mean nothing.
        return {
            one.state: (one.keys, one.entries, one.items, None if one.nulls else one.sizes)
            for one in report.states
        }

    canonical = told("states-2.2.1-hashmap-canonical")
    names = ["hashmap-native", "rocksdb-canonical", "rocksdb-native", "rocksdb-heaptimers"]
    for name in names:
        assert told(f"states-2.2.1-{name}") == canonical, name


@pytest.mark.parametrize(
    ("name", "range_size"), fast_few([(STATEFUL[0], 1), (STATEFUL[1], 4000), (WINDOWS[0], 1)])
)
def test_parts_that_are_counted_elsewhere_come_to_the_same(
    name: str, range_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = datetime(2100, 1, 1, tzinfo=UTC)
    savepoint = opened(name)
    expected = savepoint.stats(at=at)
    monkeypatch.setattr(operator_statistics, "RANGE_SIZE", range_size)
    counted = []

    def count(weighed: WeighedOperator, states: Sequence[State]) -> KeyedCounts:
        found, parts = weighed.keyed(states, ()), weighed.parts()
        for part in parts:
            found.merge(pickle.loads(pickle.dumps(weighed.keyed(states, [part]))))
        counted.append(len(parts))
        return found

    assert statistics_of(savepoint, at=at, count=count) == expected
    assert max(counted) > 2


def test_sizes_are_those_of_the_bytes_in_the_file() -> None:
    savepoint = opened("states-2.2.1-hashmap-canonical")
    report = savepoint.stats(top=100)
    entries = stored(savepoint, "stateful")
    told = {one.state: one for one in report.states if one.operator == "stateful"}
    sizes = sorted(len(key) - 2 + len(value) for _, key, value in entries)
    assert sum(one.entries for one in told.values()) == len(entries)
    assert sum(one.size for one in told.values()) == sum(sizes)
    by_group: dict[int, int] = defaultdict(int)
    for group, key, value in entries:
        by_group[group] += len(key) - 2 + len(value)
    groups = {one.key_group: one.size for one in report.key_groups}
    assert groups == by_group
    assert len(report.largest_keys) == 24
    assert sum(one.size for one in report.largest_keys) == sum(sizes)
    assert sum(one.entries for one in report.largest_keys) == len(entries)
    assert sum(one.share for one in report.largest_keys) == pytest.approx(1)
    largest = report.largest_keys[0]
    text = largest.key.encode()
    own = [(key, value) for _, key, value in entries if text in key]
    assert largest.entries == len(own)
    assert largest.size == sum(len(key) - 2 + len(value) for key, value in own)


def stored(savepoint: Savepoint, uid: str) -> list[tuple[int, bytes, bytes]]:
    """Key group, key and value of each entry of a canonical savepoint, found by hand."""
    found = []
    for subtask in savepoint.operator(uid).record.subtasks:
        handle = subtask.managed_keyed_state
        assert isinstance(handle, KeyGroupsHandle)
        data = savepoint.directory.file(handle.stream).read()
        for group, offset in zip(handle.key_groups, handle.groups.offsets, strict=True):
            position = offset
            while offset and data[position : position + 2] != b"\xff\xff":
                position += 2
                is_last = False
                while not is_last:
                    key, position = _sized(data, position)
                    value, position = _sized(data, position)
                    is_last = bool(key[0] & 0x80)
                    found.append((group, key, value))
    return found


def _sized(data: bytes, position: int) -> tuple[bytes, int]:
    (size,) = struct.unpack_from(">i", data, position)
    return data[position + 4 : position + 4 + size], position + 4 + size


def test_operator_state_is_weighed_too() -> None:
    savepoint = opened("currency-2.2.1-hashmap-canonical")
    report = savepoint.stats()
    (rates,) = (one for one in report.states if one.state == "rates")
    read = rows(savepoint, "currency_converter.rates")
    assert (rates.kind, rates.entries) == ("broadcast", len(read))
    assert rates.sizes is not None
    # The keys are ints, the values doubles.
    assert rates.sizes.total == 12 * len(read)
    elements = opened("states-2.2.1-hashmap-canonical")
    told = {one.state: one.entries for one in elements.stats().states if one.operator == "buffer"}
    assert told == {name: len(rows(elements, f"buffer.{name}")) for name in told}
    assert set(told) == {"offsets", "elements"}


def test_what_cannot_be_read_is_a_problem_and_hides_nothing_else(tmp_path: Path) -> None:
    savepoint = copy_of(Sample("states-2.2.1-hashmap-canonical"), tmp_path)
    file_of(savepoint, "stateful 0: keyed state").unlink()
    report = savepoint.stats()
    assert any("does not exist" in problem for problem in report.problems)
    assert {one.operator for one in report.states} >= {"buffer"}


def test_a_ttl_of_no_state_is_refused() -> None:
    savepoint = opened("states-2.2.1-hashmap-canonical")
    with pytest.raises(StateNotFoundError, match="no state 'memos' with TTL; it has: recent"):
        savepoint.stats(ttl={"memos": timedelta(1)})


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a time with a zone"):
        opened("states-2.2.1-hashmap-canonical").stats(at=datetime(2026, 1, 1))


@pytest.mark.parametrize(
    "part", ["states", "timers", "skew", "subtasks", "key_groups", "largest_keys"]
)
def test_each_part_is_a_table(part: Any) -> None:
    report = opened("states-2.2.1-hashmap-canonical").stats()
    table = report.to_arrow(part)
    assert table.num_rows == len(getattr(report, part)) > 0
    assert table.column_names == list(type(getattr(report, part)[0]).__dataclass_fields__)


@pytest.mark.parametrize("name", fast_few(WINDOWS))
def test_the_largest_comes_first(name: str) -> None:
    report = opened(name).stats(at=datetime(2030, 1, 1, tzinfo=UTC))
    sizes = [state.size for state in report.states]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]
    counts = [service.timers for service in report.timers]
    assert counts == sorted(counts, reverse=True)
    keys = [key.size for key in report.largest_keys]
    assert keys == sorted(keys, reverse=True)
    by_operator: dict[str, int] = defaultdict(int)
    for state in report.states:
        by_operator[state.operator] += state.size
    for part in (report.skew, report.subtasks, report.key_groups):
        operators = [by_operator[record.operator] for record in part]
        assert operators == sorted(operators, reverse=True)


def test_a_verdict_says_what_stands_out() -> None:
    savepoint = opened("states-2.2.1-hashmap-canonical")
    late = datetime(2101, 1, 1, tzinfo=UTC)
    report = savepoint.stats(at=late, ttl={"recent_memo": timedelta(days=1)})
    assert report.verdict == (
        "stateful.recent_by_currency has 13.2% of 24.9 kB;"
        f" key {'x' * 40}… has 14.5% of operator stateful;"
        " 62 timers of processing time are overdue; 21 values have expired"
    )
    buffer = savepoint.stats("buffer.offsets")
    assert buffer.verdict == "buffer.offsets has 100.0% of 32 B"
    empty = savepoint.stats("transactions_source.SourceReaderState")
    assert empty.verdict == "there is no state"


def test_a_verdict_says_that_not_all_was_counted(tmp_path: Path) -> None:
    savepoint = copy_of(Sample("states-2.2.1-hashmap-canonical"), tmp_path)
    file_of(savepoint, "stateful 0: keyed state").unlink()
    assert "; not everything could be counted: " in savepoint.stats().verdict
