"""Differences that ``diff`` must tell, and those that are none."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from support.commands import result_of
from support.hand_made import (
    STRING,
    canonical_base,
    encoded,
    group_of,
    header,
    meta_info,
    savepoint_of,
)
from support.sample_rows import SAMPLES

from faults.planted.damage import DOUBLE, with_broadcast_value
from faults.planted.editing import (
    Entries,
    Entry,
    copied,
    edited,
    first_of,
    with_entries,
    with_headers,
    with_metadata,
    with_operator,
    with_serializer,
    with_subtasks,
)
from faults.planted.of_verify import CURRENCY, STATES, WINDOWS
from faults.planted.plant import Plant
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import key_group
from savepoint_formats.layout import Text
from savepoint_formats.metadata import InlineStream
from savepoint_formats.snapshots import constructed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from savepoint_formats.snapshots import TypeSerializerSnapshot

SQL = "sql-2.2.1-hashmap-canonical"
_WITH_TIMES = ("--with-times",)


def told(plant: Plant, folder: Path) -> list[str]:
    """What ``diff`` tells of a sample and its changed copy, or of two savepoints that are planted."""
    if plant.sample:
        before, after = SAMPLES / plant.sample, copied(plant.sample, folder)
        planted = plant.plant(after)
    else:
        before, after = folder / "before", folder / "after"
        planted = plant.plant(folder)
    words = planted if isinstance(planted, tuple) else ()
    result = result_of("diff", before, after, "--output", "json", "--rows", "0", *words)
    if result.exit_code not in (0, 3):
        return [f"exit code {result.exit_code}: {result.stderr}"]
    answer = json.loads(result.stdout)
    assert answer["is_equal"] == (result.exit_code == 0)
    return list(_facts(answer))


def _facts(answer: dict[str, Any]) -> Iterator[str]:
    for one in answer["differences"]:
        yield f"{one['kind']} {one['name']} {one['what']}: {one['before']} -> {one['after']}"
    for table in answer["tables"]:
        counts = table["inserted"], table["deleted"], table["updated"]
        if any(counts):
            yield "rows {}: +{} -{} ~{}".format(table["table"], *counts)
        if table["not_compared"]:
            yield f"not compared {table['table']}: {', '.join(table['not_compared'])}"


def _plant(
    name: str, sample: str, plant: Callable[[Path], object], *says: str, why: str = ""
) -> Plant:
    return Plant("diff", name, sample, plant, says, why)


def _typed(
    name: str, snapshot: TypeSerializerSnapshot, before: Any, after: Any, *says: str
) -> Plant:
    """A value of a type, which is another one in the second savepoint; bytes are those of the value."""
    return _plant(name, "", partial(_pair, snapshot, before, after), *says)


def _same(name: str, snapshot: TypeSerializerSnapshot, before: Any, after: Any) -> Plant:
    return _typed(name, snapshot, before, after)


def _other(name: str, snapshot: TypeSerializerSnapshot, before: Any, after: Any) -> Plant:
    return _typed(name, snapshot, before, after, r"^rows \w+\.keyed_state: \+0 -0 ~1$")


def _pair(snapshot: TypeSerializerSnapshot, before: Any, after: Any, folder: Path) -> None:
    view = DataOutputView()
    snapshot.write(view)
    head = header(meta_info("state", "VALUE", view.to_bytes()), key=STRING)
    for name, value in (("before", before), ("after", after)):
        (folder / name).mkdir()
        values = {"changed": value, "same": before, "other": before}
        entries = [
            (group_of(key), 0, encoded(Text(), key) + b"\0",
             one if isinstance(one, bytes) else encoded(snapshot.layout(), one))
            for key, one in values.items()
        ]  # fmt: skip
        savepoint_of(canonical_base(head, entries), folder / name)


# --- states of samples


def _of_stateful(state: str, change: Callable[[Entry], Entry | None]) -> Callable[[Path], None]:
    return edited("stateful", first_of(state, change))


def _value(data: bytes) -> Callable[[Entry], Entry]:
    return lambda entry: replace(entry, value=data)


def _earlier(entry: Entry) -> Entry:
    """The entry with another time of last access in front of its value."""
    return replace(entry, value=struct.pack(">q", 1000) + entry.value[8:])


def _with_times(change: Callable[[Path], None]) -> Callable[[Path], object]:
    def plant(savepoint: Path) -> object:
        change(savepoint)
        return _WITH_TIMES

    return plant


def _moved_timer(entry: Entry) -> Entry:
    """The timer one millisecond later."""
    time = int.from_bytes(entry.key[:8], "big") + 1
    return replace(entry, key=time.to_bytes(8, "big") + entry.key[8:])


def _without_key(entries: Entries) -> Entries:
    return [entry for entry in entries if entry.key != entries[0].key]


def _one_more(entries: Entries) -> Entries:
    """The first key of another subtask, with the values of the first key."""
    group, key = entries[0].group, entries[0].key
    for number in range(10_000):
        other = struct.pack(">i", number) + key[4:]
        if number != int.from_bytes(key[:4], "big") and _group_of_int(number) == group:
            more = [replace(one, key=other) for one in entries if one.key == key]
            return [*more, *entries]
    raise AssertionError


def _group_of_int(number: int) -> int:
    return key_group(number, 300)


def _reversed(entries: Entries) -> Entries:
    return entries[::-1]


def _renamed_state(savepoint: Path) -> None:
    with_headers(
        savepoint, lambda info: replace(info, name="sum") if info.name == "total" else info
    )


def _of_another_kind(savepoint: Path) -> None:
    with_headers(
        savepoint,
        lambda info: (
            replace(info, options=(("KEYED_STATE_TYPE", "REDUCING"),))
            if info.name == "total"
            else info
        ),
    )


def _record(operator: str, **changes: Any) -> Callable[[Path], None]:
    return lambda savepoint: with_operator(savepoint, operator, lambda one: replace(one, **changes))


def _without_operator(savepoint: Path) -> None:
    wanted = OperatorId.from_uid("summarize")
    with_metadata(
        savepoint,
        lambda metadata: replace(
            metadata, operators=tuple(o for o in metadata.operators if o.operator_id != wanted)
        ),
    )


def _without_subtask_state(savepoint: Path) -> None:
    with_subtasks(
        savepoint,
        "summarize",
        lambda one: one if one.index else replace(one, managed_keyed_state=None),
    )


def _without_elements(savepoint: Path) -> None:
    with_subtasks(
        savepoint,
        "buffer",
        lambda one: one if one.index else replace(one, managed_operator_state=None),
    )


def _with_coordinator(savepoint: Path) -> None:
    with_operator(
        savepoint,
        "transactions_source",
        lambda one: replace(one, coordinator_state=InlineStream("other", b"other")),
    )


def _with_row_kind(entry: Entry) -> Entry:
    """The row of SQL with the kind -D; four bytes of its size lie before it."""
    return replace(entry, value=entry.value[:4] + b"\3" + entry.value[5:])


def _under_ttl(savepoint: Path) -> None:
    """The state ``total`` under a TTL: times of last access in front of all its values."""
    with_entries(
        savepoint,
        "summarize",
        lambda entries: [
            replace(entry, value=struct.pack(">q", 5) + entry.value)
            if entry.state == "total"
            else entry
            for entry in entries
        ],
    )
    with_serializer("total", constructed.ttl(constructed.double()))(savepoint)


TEXTS, LONGS = constructed.string(), constructed.long()
PAIR = constructed.tuple_of([TEXTS, LONGS])
ONE = r"^rows stateful\.keyed_state: \+0 -0 ~1$"
SUMMARY = "rows summarize.keyed_state"

DIFF = (
    # A value of each family of types.
    _other("boolean", constructed.boolean(), b"\0", b"\1"),
    _other("byte", constructed.byte(), b"\0", b"\xff"),
    _other("short", constructed.short(), 1, 2),
    _other("int", constructed.integer(), 1, -1),
    _other("long, last bit", LONGS, 1 << 40, (1 << 40) + 1),
    _other("float", constructed.single(), 1.5, 1.25),
    _other("double, last bit", constructed.double(), 1.0, 1.0000000000000002),
    _other("0.0 and -0.0", constructed.double(), 0.0, -0.0),
    _same("NaN and another NaN", constructed.double(), bytes.fromhex("7ff8000000000000"),
          bytes.fromhex("7ff8000000000001")),
    _other("NaN and infinity", constructed.double(), float("nan"), float("inf")),
    _other("char", constructed.char(), b"\0A", b"\0B"),
    _other("text, last letter", TEXTS, "transaction", "transactioN"),
    _other("empty text and a null", constructed.nullable(TEXTS), "", None),
    _other("big integer", constructed.big_int(), str(10**30), str(10**30 + 1)),
    _other("big decimal, its scale alone", constructed.big_dec(), "1.0", "1.00"),
    _other("date", constructed.local_date(), bytes([0, 0, 7, 208, 1, 1]), bytes([0, 0, 7, 208, 1, 2])),
    _other("time, a nanosecond", constructed.local_time(), bytes([1, 2, 3, 0, 0, 0, 0]),
           bytes([1, 2, 3, 0, 0, 0, 1])),
    _other("date and time, a nanosecond", constructed.local_date_time(),
           bytes([0, 0, 7, 208, 1, 1, 1, 2, 3, 0, 0, 0, 0]), bytes([0, 0, 7, 208, 1, 1, 1, 2, 3, 0, 0, 0, 1])),
    _other("instant, a nanosecond", constructed.instant(), struct.pack(">qi", 5, 0),
           struct.pack(">qi", 5, 1)),
    _other("timestamp of SQL, a nanosecond", constructed.sql_timestamp(), struct.pack(">qi", 5000, 0),
           struct.pack(">qi", 5000, 1)),
    _other("date of Java, a millisecond", constructed.date(), struct.pack(">q", 5), struct.pack(">q", 6)),
    _other("constant of an enum", constructed.enum_of("Color", ["RED", "BLUE"]), struct.pack(">i", 0),
           struct.pack(">i", 1)),
    _other("field of a tuple", PAIR, {"f0": "a", "f1": 1}, {"f0": "a", "f1": 2}),
    _other("field of a POJO", constructed.pojo("P", {"a": TEXTS, "b": LONGS}), {"a": "x", "b": 1},
           {"a": "x", "b": 2}),
    _other("null in a POJO", constructed.pojo("P", {"a": TEXTS, "b": LONGS}), {"a": "", "b": 1},
           {"a": None, "b": 1}),
    _other("field of a row", constructed.row_of([TEXTS, LONGS]),
           *({"f0": "a", "f1": one, "$row_kind": "+I"} for one in (1, None))),
    _other("elements of a list in another order", constructed.list_of(LONGS), [1, 2], [2, 1]),
    _other("element of a list twice", constructed.list_of(LONGS), [1, 2], [1, 2, 2]),
    _other("empty list and one with a null", constructed.list_of(constructed.nullable(LONGS)), [], [None]),
    _other("border between two texts of a list", constructed.list_of(TEXTS), ["ab", "c"], ["a", "bc"]),
    _same("entries of a map in another order", constructed.map_of(TEXTS, LONGS),
          [("a", 1), ("b", 2)], [("b", 2), ("a", 1)]),
    _other("keys of a map exchanged", constructed.map_of(TEXTS, LONGS),
           [("a", 1), ("b", 2)], [("a", 2), ("b", 1)]),
    _same("map in a tuple in another order", constructed.tuple_of([constructed.map_of(TEXTS, LONGS)]),
          {"f0": [("a", 1), ("b", 2)]}, {"f0": [("b", 2), ("a", 1)]}),
    _same("elements of a set in another order", constructed.set_of(TEXTS), ["a", "b"], ["b", "a"]),
    _same("set in a list in another order", constructed.list_of(constructed.set_of(LONGS)),
          [[1, 2], []], [[2, 1], []]),
    _other("element of a set that is gone", constructed.set_of(TEXTS), ["a", "b"], ["b"]),
    _other("array of longs", constructed.primitive_array(LONGS), [1, 2], [1, 3]),
    _other("array of texts", constructed.string_array(), ["a"], ["b"]),
    _other("right and left of an either", constructed.either(LONGS, LONGS),
           b"\1" + struct.pack(">q", 1), b"\0" + struct.pack(">q", 1)),
    # States of a sample.
    _plant("nothing", CURRENCY, lambda _: None),
    _plant("value of a keyed state", CURRENCY, edited("summarize", first_of("total", _value(DOUBLE))),
           r"^rows summarize\.keyed_state: \+0 -0 ~1$"),
    _plant("key that is gone", CURRENCY, edited("summarize", _without_key),
           r"^rows summarize\.keyed_state: \+0 -1 ~0$"),
    _plant("key that is new", CURRENCY, edited("summarize", _one_more),
           r"^rows summarize\.keyed_state: \+1 -0 ~0$"),
    _plant("key without one of its states", CURRENCY, edited("summarize", first_of("total", lambda _: None)),
           r"^rows summarize\.keyed_state: \+0 -0 ~1$"),
    _plant("subtask without its state", CURRENCY, _without_subtask_state,
           r"^rows summarize\.keyed_state: \+0 -\d+ ~0$"),
    _plant("key groups in another order of the file", CURRENCY, edited("summarize", _reversed)),
    _plant("value of a map state", STATES, _of_stateful("by_currency", _value(b"\0" + struct.pack(">q", 7))),
           ONE),
    _plant("entry of a map state that is gone", STATES, _of_stateful("by_currency", lambda _: None), ONE),
    _plant("value of a map state that is null now", STATES, _of_stateful("by_currency", _value(b"\1")), ONE),
    _plant("sum of a reducing state", STATES, _of_stateful("cents_sum", _value(struct.pack(">q", 7))), ONE),
    _plant("accumulator of an aggregating state", STATES,
           _of_stateful("average", _value(struct.pack(">qq", 7, 1))), ONE),
    _plant("list state with an element less", STATES,
           _of_stateful("memos", lambda entry: replace(entry, value=encoded(Text(), "one"))), ONE),
    _plant("value under a TTL", STATES,
           _of_stateful("recent_memo", lambda entry: replace(entry, value=entry.value[:8] + encoded(Text(), "!"))),
           ONE),
    _plant("time of last access", STATES, _of_stateful("recent_memo", _earlier)),
    _plant("time of last access, with --with-times", STATES,
           _with_times(_of_stateful("recent_memo", _earlier)), ONE),
    _plant("time of last access in a map, with --with-times", STATES,
           _with_times(_of_stateful("recent_by_currency",
               lambda entry: replace(entry, value=entry.value[:1] + struct.pack(">q", 9) + entry.value[9:]))),
           ONE),
    _plant("timer a millisecond later", STATES,
           edited("stateful", first_of("_timer_state/event_user-timers", _moved_timer)),
           r"^rows stateful\.timers: \+1 -1 ~0$"),
    _plant("timer that is gone", STATES,
           edited("stateful", first_of("_timer_state/processing_user-timers", lambda _: None)),
           r"^rows stateful\.timers: \+0 -1 ~0$"),
    _plant("window a millisecond later", WINDOWS,
           edited("tumbling", first_of("window-contents",
               lambda entry: replace(entry, key=entry.key[:-1] + bytes([entry.key[-1] ^ 1])))),
           r"^rows tumbling\.window_state: \+1 -1 ~0$"),
    _plant("kind of a row of SQL", SQL, edited("4_group-aggregate", first_of("accState", _with_row_kind)),
           r"^rows 4_group-aggregate\.keyed_state: \+0 -0 ~1$"),
    _plant("value of a broadcast map", CURRENCY, with_broadcast_value,
           r"^rows currency_converter\.rates: "),
    _plant("elements of an operator list that are gone", STATES, _without_elements,
           r"^rows buffer\.elements: \+0 -\d+ ~0$", r"^rows buffer\.offsets: \+0 -\d+ ~0$"),
    _plant("state of a coordinator", CURRENCY, _with_coordinator,
           r"^rows transactions_source\.coordinator_state: \+1 -1 ~0$"),
    # Headers and records.
    _plant("state under another name", CURRENCY, _renamed_state,
           r"^state summarize\.total state: value of DOUBLE -> $", r"^state summarize\.sum state:  -> value of",
           r"^not compared summarize\.keyed_state: total, sum$"),
    _plant("state of another kind", CURRENCY, _of_another_kind,
           r"^type summarize\.total kind: value -> reducing$"),
    _plant("state of another type", CURRENCY, with_serializer("total", LONGS),
           r"^type summarize\.total value: DOUBLE -> BIGINT$", r"^not compared summarize\.keyed_state: total$"),
    _plant("state under a TTL", CURRENCY, _under_ttl,
           r"summarize\.\w+ "),
    _plant("operator under another uid", CURRENCY,
           _record("summarize", uid="sums", operator_id=OperatorId.from_uid("sums")),
           r"^operator summarize operator: 2 states -> $", r"^operator sums operator:  -> 2 states$"),
    _plant("operator under another name", CURRENCY, _record("summarize", name="Summe")),
    _plant("operator that is gone", CURRENCY, _without_operator, r"^operator summarize operator: 2 states -> $",
           r"^setting  keyed formats: canonical -> $"),
    _plant("number of a checkpoint", CURRENCY,
           lambda savepoint: with_metadata(savepoint, lambda one: replace(one, checkpoint_id=77))),
    _plant("other max parallelism of an operator without keys", CURRENCY,
           _record("transactions_source", max_parallelism=77),
           r"^setting transactions_source max parallelism: \d+ -> 77$"),
)  # fmt: skip
