"""Numbers that ``stats`` must tell: states of known keys and sizes, counted here in another way."""

from __future__ import annotations

import json
import re
import struct
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from support.commands import result_of
from support.hand_made import (
    MAX_PARALLELISM,
    STRING,
    canonical_base,
    encoded,
    group_of,
    header,
    meta_info,
    savepoint_of,
)
from support.sample_rows import SAMPLES

from faults.planted.counted import Made, expected, patterns, shown_number, skew, spread
from faults.planted.editing import Entries, copied, edited, first_of, with_subtasks
from faults.planted.of_verify import CURRENCY, STATES
from faults.planted.plant import Plant
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.layout import LogicalType, Text
from savepoint_formats.snapshots import constructed
from savepoint_formats.snapshots.sql import constructed_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from savepoint_formats.snapshots import TypeSerializerSnapshot

NO_NULLS: dict[str, Any] = {"nulls": 0, "null_share": 0.0, "empties": 0, "empty_share": 0.0}
TEXT, LONG = constructed.string(), constructed.long()
NULLABLE = constructed.nullable(TEXT)
SQL_MAP = LogicalType("MAP", children=(LogicalType("VARCHAR"), LogicalType("BIGINT")))
SQL_ARRAY = LogicalType("ARRAY", children=(LogicalType("VARCHAR"),))
_AT = ("--at", "2026-01-01T00:00:00Z")
_AT_MS = 1_767_225_600_000


def told(plant: Plant, folder: Path) -> list[str]:
    """Numbers that ``stats`` tells, and does not tell of the sample itself.

    Only those of the kinds that the row names: ``state``, ``timers``, ``skew``, ``subtask``, ``group``,
    ``largest``, ``total``; and problems.
    """
    path = copied(plant.sample, folder) if plant.sample else folder
    words = plant.plant(path)
    words = words if isinstance(words, tuple) else _AT
    known = _facts(SAMPLES / plant.sample, *words) if plant.sample else []
    kinds = {re.match(r"\W*(\w+)", pattern)[1] for pattern in plant.says} | {"problem", "exit"}  # type: ignore[index]
    return [
        fact
        for fact in _facts(path, *words)
        if fact not in known and (not plant.says or fact.partition(" ")[0] in kinds)
    ]


def _facts(path: Path, *words: str) -> list[str]:
    result = result_of("stats", path, "--output", "json", "--key-groups", *words)
    if result.exit_code:
        return [f"exit code {result.exit_code}: {result.stderr}"]
    answer = json.loads(result.stdout)
    return list(_numbers(answer))


_KINDS = {
    "states": ("state", ("state",)),
    "timers": ("timers", ("time_domain",)),
    "skew": ("skew", ("over",)),
    "subtasks": ("subtask", ("subtask",)),
    "key_groups": ("group", ("key_group",)),
    "largest_keys": ("largest", ("key",)),
}
_SHOWN = {"operator", "table", "kind", "spans", "resolution_ms", "service"}


def _numbers(answer: dict[str, Any]) -> Iterator[str]:
    yield f"total size={answer['size']}"
    for problem in answer["problems"]:
        yield f"problem {problem}"
    for part, (kind, names) in _KINDS.items():
        for record in answer[part]:
            name = " ".join(str(record[name]) for name in names)
            for field, value in record.items():
                if field not in _SHOWN and field not in names and value not in (None, ""):
                    inner = value.items() if isinstance(value, dict) else [("", value)]
                    for deeper, number in inner:
                        place = f"{field}.{deeper}" if deeper else field
                        yield f"{kind} {name} {place}={shown_number(number)}"


# --- how they are made


def _write(
    snapshot: TypeSerializerSnapshot, kind: str, entries: Iterable[Made], words: tuple[str, ...], folder: Path
) -> tuple[str, ...]:  # fmt: skip
    view = DataOutputView()
    snapshot.write(view)
    head = header(meta_info("state", kind, view.to_bytes()), key=STRING)
    stored = [
        (group_of(entry.key), 0, encoded(Text(), entry.key) + entry.behind, entry.value)
        for entry in entries
    ]
    savepoint_of(canonical_base(head, stored), folder)
    return words


def _plant(name: str, sample: str, plant: Callable[[Path], object], *says: str) -> Plant:
    return Plant("stats", name, sample, plant, says)


def _values(
    name: str, snapshot: TypeSerializerSnapshot, values: Iterable[Any], more: Mapping[str, Any],
    words: tuple[str, ...] = _AT,
) -> Plant:  # fmt: skip
    """A value for each of as many keys."""
    entries = [
        Made(f"k{number:03}", value if isinstance(value, bytes) else encoded(snapshot.layout(), value))
        for number, value in enumerate(values)
    ]  # fmt: skip
    return _plant(
        name, "", partial(_write, snapshot, "VALUE", entries, words), *expected(entries, **more)
    )


def _texts(name: str, sizes: Iterable[int], **more: Any) -> Plant:
    """Texts of these lengths."""
    lengths = list(sizes)
    nothing = sum(not length for length in lengths)
    count = len(lengths)
    told_of = {"nulls": 0, "null_share": 0.0, "empties": nothing, "empty_share": nothing / count}
    return _values(name, TEXT, ["x" * length for length in lengths], told_of | more)


def _nulls(name: str, values: Sequence[str | None]) -> Plant:
    nulls, empties = values.count(None), values.count("")
    count = len(values)
    told_of = {
        "nulls": nulls, "null_share": nulls / count, "empties": empties, "empty_share": empties / count
    }  # fmt: skip
    return _values(name, NULLABLE, values, told_of)


def _list_state(name: str, lengths: Sequence[int]) -> Plant:
    """Lists of so many longs, with a comma between two."""
    entries = [
        Made(f"k{number:03}", b",".join(struct.pack(">q", n) for n in range(length)))
        for number, length in enumerate(lengths)
    ]
    snapshot = constructed.list_of(LONG)
    more = NO_NULLS | spread("items", lengths)
    return _plant(
        name, "", partial(_write, snapshot, "LIST", entries, _AT), *expected(entries, **more)
    )


def _map_state(name: str, maps: Sequence[dict[str, int | None]]) -> Plant:
    """Maps of texts to longs; an entry per entry."""
    entries = [
        Made(f"k{number:03}", b"\1" if value is None else b"\0" + struct.pack(">q", value),
              b"\0" + encoded(Text(), key))
        for number, one in enumerate(maps)
        for key, value in one.items()
    ]  # fmt: skip
    nulls = sum(value is None for one in maps for value in one.values())
    more = {
        "nulls": nulls, "null_share": nulls / len(entries), "empties": 0, "empty_share": 0.0,
        **spread("items", [len(one) for one in maps]),
    }  # fmt: skip
    snapshot = constructed.map_of(TEXT, LONG)
    return _plant(
        name, "", partial(_write, snapshot, "MAP", entries, _AT), *expected(entries, **more)
    )


def _accessed(name: str, times: Sequence[int], life: str = "", life_ms: int = 0) -> Plant:
    """Values that were accessed at these times, in ms before the time that counts as now."""
    values = [struct.pack(">q", _AT_MS - before) + encoded(Text(), "v") for before in times]
    more: dict[str, Any] = {}
    if life:
        expired = sum(before >= life_ms for before in times)
        more = {"expired": expired, "expired_share": expired / len(times)}
    words = (*_AT, "--ttl", f"state={life}") if life else _AT
    plant = _values(name, constructed.ttl(TEXT), values, NO_NULLS | more, words)
    return replace(plant, says=(*plant.says, r"^state state (first|last)_access=202[56]-"))


def _timers(name: str, domain: str, times: Sequence[int], **numbers_of: Any) -> Plant:
    """Timers of one key each, in ms after the time that counts as now."""
    state = f"_timer_state/{domain}_service"
    snapshot = constructed.timer(TEXT, constructed.void_namespace())

    def plant(folder: Path) -> object:
        view = DataOutputView()
        snapshot.write(view)
        head = header(meta_info(state, "TIMERS", view.to_bytes()), key=STRING)
        stored = []
        for number, time in enumerate(times):
            key = encoded(Text(), f"k{number:03}")
            stamp = struct.pack(">q", (_AT_MS + time) ^ -(1 << 63))
            stored.append((group_of(f"k{number:03}"), 0, stamp + key + b"\0", b""))
        savepoint_of(canonical_base(head, stored), folder)
        return _AT

    front = f"timers {'PROCESSING' if domain == 'processing' else 'EVENT'}_TIME"
    numbers = {"timers": len(times), "keys": len(times), **numbers_of}
    return _plant(name, "", plant, *patterns(front, numbers))


def _of_groups(name: str, counts: Sequence[int]) -> Plant:
    """So many keys in each key group, of one subtask."""
    left, entries = list(counts), []
    for number in range(100_000):
        key = f"k{number:05}"
        if left[group_of(key)]:
            left[group_of(key)] -= 1
            entries.append(Made(key, struct.pack(">q", number)))
        if not any(left):
            break
    size = entries[0].size
    says = patterns(
        "skew key groups",
        {
            "count": MAX_PARALLELISM,
            **skew("key groups", counts, "keys"),
            **skew("key groups", [count * size for count in counts], "size"),
        },
    )
    says += patterns(
        "skew subtasks",
        {"count": 1, "keys_max_over_mean": 1.0, "keys_gini": 0.0, "size_max_over_mean": 1.0, "size_gini": 0.0},
    )  # fmt: skip
    for group, count in enumerate(counts):
        if count:
            numbers = {"subtask": 0, "keys": count, "entries": count, "size": count * size}
            says += patterns(f"group {group}", numbers)
    return _plant(name, "", partial(_write, LONG, "VALUE", entries, _AT), *says)


def _largest(name: str, lengths: Sequence[int], top: int) -> Plant:
    """The keys with the most bytes, of these lengths of their texts."""
    entries = [
        Made(f"k{number:03}", encoded(Text(), "x" * length)) for number, length in enumerate(lengths)
    ]  # fmt: skip
    total = sum(entry.size for entry in entries)
    says: tuple[str, ...] = ()
    for entry in sorted(entries, key=lambda entry: -entry.size)[:top]:
        numbers = {"key_group": group_of(entry.key), "subtask": 0, "entries": 1, "size": entry.size,
                   "share": entry.size / total}  # fmt: skip
        says += patterns(f"largest {entry.key}", numbers)
    words = (*_AT, "--top", str(top))
    return _plant(name, "", partial(_write, TEXT, "VALUE", entries, words), *says)


def _without_key(entries: Entries) -> Entries:
    return [entry for entry in entries if entry.key != entries[0].key]


def _without_state(state: str) -> Callable[[Entries], Entries]:
    return lambda entries: [entry for entry in entries if entry.state != state]


def _without_subtask_state(savepoint: Path) -> None:
    with_subtasks(
        savepoint,
        "summarize",
        lambda one: one if one.index else replace(one, managed_keyed_state=None),
    )


def _number_of(state: str, **numbers: Any) -> tuple[str, ...]:
    return patterns(f"state {state}", {name.replace("__", "."): n for name, n in numbers.items()})


STATS = (
    # Sizes.
    _texts("one value", [7]),
    _texts("values of one size", [10] * 50),
    _texts("values of each size", range(1, 101)),
    _texts("one huge value", [5] * 99 + [1_000_000]),
    _texts("two of a hundred values are huge", [5] * 98 + [70_000] * 2),
    _texts("as many small as large values", [1] * 20 + [200] * 20),
    _texts("one more large than small values", [1] * 20 + [200] * 21),
    _texts("a value of 64 KiB and one less", [65_535, 65_536, 65_537]),
    _texts("a value of 3 MB", [3_000_000]),
    _texts("a state twice as large", [20] * 50),
    _values("numbers", LONG, range(40), NO_NULLS),
    # Nulls and what is empty.
    _texts("all texts are empty", [0] * 12),
    _texts("a third of the texts is empty", [0, 4, 5] * 10),
    _nulls("no null", ["a"] * 9),
    _nulls("one null of ten", [None] + ["a"] * 9),
    _nulls("nothing but nulls", [None] * 9),
    _nulls("nulls and empty texts", [None, "", "", "a"] * 4),
    _values("empty lists", constructed.list_of(LONG), [[], [1], [], [1, 2]],
            NO_NULLS | {"empties": 2, "empty_share": 0.5} | spread("items", [0, 1, 0, 2])),
    _values("empty maps of SQL", constructed_sql.internal(SQL_MAP), [[], [("a", 1)], []],
            NO_NULLS | {"empties": 2, "empty_share": 2 / 3}),
    _values("empty arrays of SQL", constructed_sql.internal(SQL_ARRAY), [[], ["a"], []],
            NO_NULLS | {"empties": 2, "empty_share": 2 / 3}),
    # Lists and maps.
    _list_state("list state of one element", [1] * 8),
    _list_state("list states of different lengths", range(1, 60)),
    _list_state("one long list state", [1] * 30 + [5000]),
    _map_state("map state of one entry", [{"a": 1}] * 7),
    _map_state("map states of different sizes",
               [{f"u{n}": n for n in range(size)} for size in (1, 2, 3, 50)]),
    _map_state("map states with nulls", [{"a": None, "b": 1}, {"a": 2}, {"c": None}]),
    # Times of last access.
    _accessed("values with a TTL", [0, 1000, 5_000_000]),
    _accessed("half of the values have expired", [1000, 90_000_000] * 5, "1d", 86_400_000),
    _accessed("none has expired", [1000, 2000], "1d", 86_400_000),
    _accessed("a value expires at this moment", [86_400_000, 86_399_999], "1d", 86_400_000),
    _accessed("all have expired", [10_000_000_000] * 3, "7d", 604_800_000),
    # Timers.
    _timers("timers of processing time, some overdue", "processing", [-5, -1, 1, 5, 9], overdue=2,
            overdue_share=0.4, earliest="2025-12-31 23:59:59.995Z", median="2026-01-01 00:00:00.001Z",
            latest="2026-01-01 00:00:00.009Z"),
    _timers("timer that is due now", "processing", [0], overdue=1, overdue_share=1.0,
            earliest="2026-01-01 00:00:00.000Z", median="2026-01-01 00:00:00.000Z",
            latest="2026-01-01 00:00:00.000Z"),
    _timers("timers of event time are not overdue", "event", [-5, 5],
            earliest="2025-12-31 23:59:59.995Z", median="2025-12-31 23:59:59.995Z",
            latest="2026-01-01 00:00:00.005Z"),
    _timers("timer before 1970", "event", [-2_000_000_000_000], earliest="1962-08-16 20:26:40.000Z",
            median="1962-08-16 20:26:40.000Z", latest="1962-08-16 20:26:40.000Z"),
    # Skew.
    _of_groups("as many keys in each key group", [10] * 4),
    _of_groups("all keys in one key group", [0, 0, 20, 0]),
    _of_groups("keys in two key groups", [15, 0, 0, 15]),
    _of_groups("one key more in a key group", [5, 6, 5, 5]),
    _of_groups("ninety percent in one key group", [90, 4, 3, 3]),
    # Largest keys.
    _largest("three largest keys", [1, 500, 20, 400, 300, 2], 3),
    _largest("one key with nearly all bytes", [100_000] + [3] * 20, 1),
    # Samples.
    _plant("nothing", CURRENCY, lambda _: None),
    _plant("entry that is gone", CURRENCY, edited("summarize", first_of("total", lambda _: None)),
           *_number_of("total", keys=23, rows=23, entries=23, size=299, sizes__total=299)),
    _plant("key that is gone", CURRENCY, edited("summarize", _without_key),
           *_number_of("total", keys=23, rows=23, entries=23, size=299, sizes__total=299),
           *_number_of("count", keys=23, rows=23, entries=23, size=207, sizes__total=207)),
    _plant("state without entries", CURRENCY, edited("summarize", _without_state("count")),
           *_number_of("count", keys=0, rows=0, entries=0, size=0)),
    _plant("subtask without its state", CURRENCY, _without_subtask_state,
           *patterns("subtask 0", {"keys": 0, "entries": 0, "size": 0})),
    _plant("value that grew by a hundred bytes", STATES,
           edited("stateful", first_of("recent_memo",
               lambda entry: replace(entry, value=entry.value[:8] + encoded(Text(), "y" * 5000)))),
           r"^state recent_memo (size|sizes\.total|sizes\.mean|sizes\.p99)=",
           r"^state recent_memo sizes\.max=50\d\d$"),
)  # fmt: skip
