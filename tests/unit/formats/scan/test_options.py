"""Options of a scan: columns, keys, key groups, flat views, and splits."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from support.sample_rows import Rows, Sample, in_order, rows_of
from support.slow_cases import slow_unless

from savepoint_formats.errors import ColumnNotFoundError, KeyTypeError, StateNotFoundError
from savepoint_formats.hashing.key_hash import java_hash
from savepoint_formats.key_groups.ranges import KeyGroupRange, key_group
from savepoint_formats.layout import Int, Text
from savepoint_formats.scan.splits import KeyedSplit
from savepoint_formats.scan.wanted_keys import keys_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.scan.scan import TableScan
    from savepoint_formats.scan.splits import Split

# One of each way in which keyed state is stored.
STORED = [
    Sample("states-2.2.1-hashmap-canonical"),
    Sample("states-1.20.5-hashmap-compressed"),
    Sample("states-2.2.1-hashmap-native"),
    Sample("states-1.20.5-rocksdb-native"),
    Sample("states-2.2.1-rocksdb-incremental"),
]
TTL_STATES = {"recent_memo": str, "recent_memos": list, "recent_by_currency": dict}

each_way = pytest.mark.parametrize(
    "sample", slow_unless(STORED[1::2].__contains__, STORED), ids=str
)


def keyed_state(sample: Sample, **options: Any) -> TableScan:
    return sample.open().scan("stateful.keyed_state", **options)


def key_groups_of(scan: TableScan) -> list[int]:
    splits = [split for split in scan.splits() if isinstance(split, KeyedSplit)]
    return [group for split in splits for group in split.key_groups]


class TestColumns:
    @each_way
    def test_come_in_the_order_wanted(self, sample: Sample) -> None:
        rows = rows_of(keyed_state(sample, columns=("memos", "key")))
        expected = [{"memos": row["memos"], "key": row["key"]} for row in states(sample)]
        assert in_order(rows) == in_order(expected)
        assert list(rows[0]) == ["memos", "key"]

    @each_way
    def test_a_row_is_there_even_if_none_of_its_columns_is(self, sample: Sample) -> None:
        rows = rows_of(keyed_state(sample, columns=("recent_memo",)))
        assert len(rows) == len(states(sample))

    def test_an_unknown_one_is_an_error_that_lists_those_there_are(self) -> None:
        scan = Sample("currency-2.2.1-hashmap-native").open().scan("summarize.keyed_state")
        scan = replace(scan, options=replace(scan.options, columns=("totals",)))
        with pytest.raises(
            ColumnNotFoundError,
            match="keyed_state has no column 'totals'; it has: key, total, count",
        ):
            _ = scan.schema


class TestKeys:
    @pytest.mark.usefixtures("slow")
    @pytest.mark.parametrize("sample", STORED, ids=str)
    def test_a_look_up_reads_the_key_group_of_its_key_alone(self, sample: Sample) -> None:
        everything = {row["key"]: row for row in rows_of(keyed_state(sample))}
        for key, row in everything.items():
            scan = keyed_state(sample, keys=(key,))
            groups = sample.facts["max_parallelism"]
            assert key_groups_of(scan) == [key_group(java_hash(Text(), key), groups)]
            assert rows_of(scan) == [row]

    @each_way
    def test_several_keys(self, sample: Sample) -> None:
        keys = ("", "𝄞 clef", "nobody", "refunds only")
        expected = [row for row in rows_of(keyed_state(sample)) if row["key"] in keys]
        assert len(expected) == 3
        assert in_order(rows_of(keyed_state(sample, keys=keys))) == in_order(expected)

    @each_way
    def test_no_keys_are_no_rows(self, sample: Sample) -> None:
        assert rows_of(keyed_state(sample, keys=())) == []

    @each_way
    def test_within_key_groups(self, sample: Sample) -> None:
        group = key_group(java_hash(Text(), ""), sample.facts["max_parallelism"])
        here, beside = KeyGroupRange(group, group), KeyGroupRange(group + 1, group + 2)
        assert len(rows_of(keyed_state(sample, keys=("",), key_groups=here))) == 1
        assert rows_of(keyed_state(sample, keys=("",), key_groups=beside)) == []

    def test_do_without_the_column(self) -> None:
        (row,) = rows_of(keyed_state(STORED[0], keys=("",), columns=("last_id",)))
        assert row == {"last_id": 213}

    @pytest.mark.parametrize("table", ["window_state", "timers"])
    def test_of_windows_and_timers(self, table: str) -> None:
        savepoint = Sample("windows-2.2.1-rocksdb-native").open()
        everything = rows_of(savepoint.scan(f"tumbling.{table}"))
        expected = [row for row in everything if row["key"] in (255, 1005)]
        assert len(expected) == 4
        assert rows_of(savepoint.scan(f"tumbling.{table}", keys=(255, 1005))) == expected

    @pytest.mark.parametrize("backend", ["hashmap-canonical", "rocksdb-native"])
    @pytest.mark.parametrize("key", [{"f0": "Zoë"}, '{"f0": "Zoë"}'], ids=type)
    def test_that_are_rows(self, backend: str, key: Any) -> None:
        scan = Sample(f"sql-2.2.1-{backend}").open().scan
        table = "4_group-aggregate.keyed_state"
        (row,) = [row for row in rows_of(scan(table)) if row["key"] == {"f0": "Zoë"}]
        assert rows_of(scan(table, keys=(key,))) == [row]

    def test_may_be_texts(self) -> None:
        scan = Sample("currency-2.2.1-hashmap-native").open().scan
        (row,) = rows_of(scan("summarize.keyed_state", keys=("-7",)))
        assert row == {"key": -7, "total": 913265.84375, "count": 14}

    def test_of_broadcast_state_are_those_of_its_map(self) -> None:
        savepoint = Sample("currency-2.2.1-hashmap-canonical").open()
        rows = rows_of(savepoint.scan("currency_converter.rates", keys=(4, 1)))
        assert in_order(rows) == [{"key": 1, "value": 13.125}, {"key": 4, "value": 15.5}]

    def test_of_list_state_are_an_error(self) -> None:
        savepoint = Sample("states-2.2.1-hashmap-canonical").open()
        with pytest.raises(ColumnNotFoundError, match="elements has no column 'key'"):
            rows_of(savepoint.scan("buffer.elements", keys=("a",)))

    @pytest.mark.parametrize("key", ["a", 1.5, 1 << 31, {"f0": 1}])
    def test_of_another_type_are_an_error(self, key: Any) -> None:
        savepoint = Sample("currency-2.2.1-hashmap-canonical").open()
        with pytest.raises(KeyTypeError, match="is not a key of type int32"):
            rows_of(savepoint.scan("summarize.keyed_state", keys=(key,)))

    @pytest.mark.parametrize("text", ["[" * 100_000, f'{{"a": {1 << 70}}}', '{"a": "b"}', "[1]"])
    def test_of_a_struct_may_be_no_json_of_it(self, text: str) -> None:
        with pytest.raises(KeyTypeError, match="is not a key of type struct"):
            keys_of([text], pa.struct({"a": pa.int64()}))


class TestKeyGroups:
    @each_way
    def test_are_those_of_the_keys(self, sample: Sample) -> None:
        groups = sample.facts["max_parallelism"]
        rows = rows_of(keyed_state(sample, columns=("key", "key_group"), with_key_group=True))
        expected = {row["key"]: key_group(java_hash(Text(), row["key"]), groups) for row in rows}
        assert {row["key"]: row["key_group"] for row in rows} == expected
        assert len(rows) == len(states(sample))

    def test_are_those_of_numbers(self) -> None:
        savepoint = Sample("currency-1.20.5-rocksdb-canonical").open()
        rows = rows_of(savepoint.scan("summarize.keyed_state", with_key_group=True))
        assert [row["key_group"] for row in rows] == [
            key_group(java_hash(Int(), row["key"]), 128) for row in rows
        ]

    @each_way
    def test_a_range_has_its_rows_and_no_others(self, sample: Sample) -> None:
        everything = rows_of(keyed_state(sample, with_key_group=True))
        middle = sample.facts["max_parallelism"] // 2
        # Both subtasks have a part of it.
        wanted = KeyGroupRange(middle - 20, middle + 20)
        expected = [row for row in everything if row["key_group"] in wanted]
        scan = keyed_state(sample, with_key_group=True, key_groups=wanted)
        assert len(everything) > len(expected) > 1
        assert rows_of(scan) == expected
        assert key_groups_of(scan) == list(wanted)

    @pytest.mark.parametrize("kind", ["hashmap-canonical", "hashmap-native", "rocksdb-native"])
    def test_of_timers_are_those_of_their_keys(self, kind: str) -> None:
        savepoint = Sample(f"states-2.2.1-{kind}").open()
        rows = rows_of(savepoint.scan("stateful.timers", with_key_group=True))
        assert [row["key_group"] for row in rows] == [
            key_group(java_hash(Text(), row["key"]), 300) for row in rows
        ]


class TestSubtasks:
    @each_way
    def test_own_the_key_groups(self, sample: Sample) -> None:
        groups = sample.facts["max_parallelism"]
        for row in rows_of(keyed_state(sample, with_key_group=True, with_subtask=True)):
            assert row["key_group"] in KeyGroupRange.of_subtask(row["subtask"], 2, groups)

    def test_have_elements_of_lists(self) -> None:
        rows = rows_of(STORED[0].open().scan("buffer.elements", with_subtask=True))
        by_subtask = [
            row["value"] for subtask in (0, 1) for row in rows if row["subtask"] == subtask
        ]
        assert by_subtask == STORED[0].elements("buffer", "elements")
        assert {row["subtask"] for row in rows} == {0, 1}

    def test_have_a_copy_each_of_broadcast_state(self) -> None:
        sample = Sample("currency-2.2.1-rocksdb-native")
        rows = rows_of(sample.open().scan("currency_converter.rates", with_subtask=True))
        for subtask in (0, 1):
            copy = [
                {k: row[k] for k in ("key", "value")} for row in rows if row["subtask"] == subtask
            ]
            assert in_order(copy) == in_order(sample.elements("currency_converter", "rates"))

    @each_way
    def test_may_come_in_any_order(self, sample: Sample) -> None:
        scan = keyed_state(sample)
        subtasks = tuple(reversed(scan.operator.subtasks))
        reversed_scan = replace(scan, operator=replace(scan.operator, subtasks=subtasks))
        assert in_order(rows_of(reversed_scan)) == in_order(rows_of(scan))


class TestTimes:
    @each_way
    def test_come_beside_the_values(self, sample: Sample) -> None:
        times: list[float] = []
        expected = {row["key"]: row for row in states(sample)}
        scan = keyed_state(sample, with_times=True)
        for row in rows_of(scan):
            for name, kind in TTL_STATES.items():
                value, found = row[name], expected[row["key"]].get(name)
                assert without_times(value, kind, times) == found
        year = 365 * 86400
        assert min(times) > time.time() - 20 * year
        assert max(times) < time.time()

    def test_are_of_utc(self) -> None:
        found = keyed_state(STORED[0], with_times=True).schema.field("recent_memo").type
        assert found.field("timestamp").type == pa.timestamp("ms", "UTC")


class TestFlat:
    @each_way
    @pytest.mark.parametrize("state", ["memos", "recent_memos"])
    def test_a_list_is_a_row_per_element(self, sample: Sample, state: str) -> None:
        expected = [
            {"key": row["key"], "list_index": index, "list_value": value}
            for row in states(sample)
            for index, value in enumerate(row.get(state) or ())
        ]
        assert in_order(rows_of(keyed_state(sample, flat=state))) == in_order(expected)

    @each_way
    @pytest.mark.parametrize("state", ["changes", "memo_by_currency", "recent_by_currency"])
    def test_a_map_is_a_row_per_entry(self, sample: Sample, state: str) -> None:
        expected = [
            {"key": row["key"], "map_key": key, "map_value": value}
            for row in states(sample)
            for key, value in (row.get(state) or {}).items()
        ]
        assert in_order(rows_of(keyed_state(sample, flat=state))) == in_order(expected)

    def test_some_keys_and_columns(self) -> None:
        scan = keyed_state(
            STORED[3],
            flat="memos",
            keys=("",),
            columns=("list_value", "key_group"),
            with_key_group=True,
        )
        group = key_group(java_hash(Text(), ""), 128)
        assert rows_of(scan) == [{"list_value": "rent; March", "key_group": group}] * 2

    @pytest.mark.parametrize(
        ("state", "message"),
        [("last_id", "'last_id' is not a list or map"), ("memo", "no state 'memo'; it has: ")],
    )
    def test_of_anything_else_is_an_error(self, state: str, message: str) -> None:
        with pytest.raises(StateNotFoundError, match=message):
            rows_of(keyed_state(STORED[0], flat=state))


class TestSplits:
    @each_way
    def test_small_ones_have_the_same_rows_in_the_same_order(self, sample: Sample) -> None:
        scan = keyed_state(sample, with_key_group=True)
        small = scan.splits(1)
        assert len(small) == sample.facts["max_parallelism"]
        of_groups: dict[int, list[Any]] = {}
        for row in plain(scan, scan.splits()):
            of_groups.setdefault(row["key_group"], []).append(row)
        for group in range(0, len(small), 8):
            assert plain(scan, [small[group]]) == of_groups.get(group, [])

    @each_way
    def test_cover_each_key_group_once(self, sample: Sample) -> None:
        groups = list(range(sample.facts["max_parallelism"]))
        for size in (1, 100, 3000, 1 << 30):
            scan = keyed_state(sample)
            splits = [split for split in scan.splits(size) if isinstance(split, KeyedSplit)]
            assert sorted(group for split in splits for group in split.key_groups) == groups


def plain(scan: TableScan, splits: Sequence[Split]) -> list[Any]:
    batches = (batch for split in splits for batch in scan.read(split))
    return [row for batch in batches for row in batch.to_pylist()]


def states(sample: Sample) -> Rows:
    return sample.keyed_state("stateful")


def without_times(value: Any, kind: type, times: list[float]) -> Any:
    """The value without the times of its parts, which are added to ``times``."""
    if value is None:
        return None
    parts = [value] if kind is str else value.values() if kind is dict else value
    times.extend(
        time.mktime(time.strptime(part["timestamp"][:19], "%Y-%m-%dT%H:%M:%S")) for part in parts
    )
    if kind is dict:
        return {key: part["value"] for key, part in value.items()}
    return [part["value"] for part in value] if kind is list else value["value"]
