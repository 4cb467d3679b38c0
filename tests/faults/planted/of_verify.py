"""Damage that ``verify`` must tell."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from support.commands import result_of
from support.hand_made import encoded

from faults.planted.damage import (
    DOUBLE,
    again,
    again_behind,
    at_one_offset,
    beyond_the_file,
    change_file,
    cut,
    exchange_two,
    exchanged_files,
    flipped,
    in_a_section,
    in_broadcast,
    in_first_section,
    in_other_group,
    in_window,
    keyed_file,
    lose_one,
    negative_one,
    of_stateful,
    of_summarize,
    removed,
    rocksdb_file,
    swapped,
    twice,
    with_element_offsets,
    with_first_subtask,
    with_group_range,
    with_offsets,
    with_other_coordinator,
    with_other_count,
    with_other_size,
    with_type,
    with_value,
    without_file,
    without_group,
    without_serializer,
)
from faults.planted.editing import (
    copied,
    edited,
    file_of,
    first_of,
    with_bytes,
    with_operator,
    with_serializer,
)
from faults.planted.plant import Plant
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.layout import Text
from savepoint_formats.locations.file_io import METADATA_FILE
from savepoint_formats.snapshots import constructed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CURRENCY = "currency-2.2.1-hashmap-canonical"
STATES = "states-2.2.1-hashmap-canonical"
WINDOWS = "windows-2.2.1-hashmap-canonical"
HEAP = "currency-2.2.1-hashmap-native"
COMPRESSED = "states-1.20.5-hashmap-compressed"
ROCKSDB = "currency-2.2.1-rocksdb-native"
INCREMENTAL = "states-2.2.1-rocksdb-incremental/chk-2"
CHANGELOG = "states-1.20.5-hashmap-changelog/chk-2"


def told(plant: Plant, folder: Path) -> list[str]:
    """What ``verify`` tells of a planted fault: ``<operator>.<state> [<key group>] <check>: <problem>``."""
    savepoint = copied(plant.sample, folder)
    plant.plant(savepoint)
    result = result_of("verify", savepoint, "--output", "json")
    if not result.stdout:
        return [f"exit code {result.exit_code}: {result.stderr}"]
    answer = json.loads(result.stdout)
    severities = {fault["severity"] for fault in answer["faults"]}
    expected = 1 if "damage" in severities else 3 if "not read" in severities else 0
    assert result.exit_code == expected
    return list(map(_fact, answer["faults"]))


def _fact(fault: dict[str, Any]) -> str:
    mark = "" if fault["severity"] == "damage" else f"{fault['severity']} "
    place = f"{fault['operator']}.{fault['state']} [{fault['key_group']}]"
    return f"{mark}{place} {fault['check']}: {fault['problem']}"


def _plant(
    name: str, sample: str, plant: Callable[[Path], object], *says: str, why: str = ""
) -> Plant:
    return Plant("verify", name, sample, plant, says, why)


VERIFY = (
    # Entries of canonical files.
    _plant("key in another key group", CURRENCY, edited("summarize", in_other_group),
           r"summarize\.(total|count) \[\d+\] (key groups|sections): "),
    _plant("prefix of another key group", CURRENCY,
           of_summarize(lambda entry: replace(entry, prefix=entry.group + 1)),
           r"summarize\.\w* \[\d+\] sections: "),
    _plant("other key under the same prefix", CURRENCY,
           of_summarize(lambda entry: replace(entry, key=struct.pack(">i", 123_456) + entry.key[4:])),
           r"summarize\.total \[\d+\] key groups: 1 keys belong to another key group"),
    _plant("entry twice", CURRENCY, edited("summarize", again),
           r"summarize\.\w+ \[.*\] unique keys: 1 keys occur more than once"),
    _plant("key twice with two values", CURRENCY,
           edited("summarize", partial(again, value=DOUBLE)),
           r"summarize\.\w+ \[.*\] (unique keys: 1 keys occur more than once|values)"),
    _plant("key twice in two runs", CURRENCY, edited("summarize", again_behind),
           r"summarize\.\w+ \[.*\] unique keys: \d+ keys occur more than once"),
    _plant("entries in another order", CURRENCY, edited("summarize", swapped)),
    _plant("value a byte short", CURRENCY,
           of_summarize(lambda entry: replace(entry, value=entry.value[:-1])),
           r"summarize\.total \[\d+\] values: "),
    _plant("value a byte long", CURRENCY,
           of_summarize(lambda entry: replace(entry, value=entry.value + b"\0")),
           r"summarize\.total \[\d+\] values: "),
    _plant("value without bytes", CURRENCY, of_summarize(with_value(b"")),
           r"summarize\.total \[\d+\] values: "),
    _plant("key a byte long", CURRENCY,
           of_summarize(lambda entry: replace(entry, key=entry.key + b"\0")),
           r"summarize\.total \[\d+\] values: "),
    _plant("key a byte short", CURRENCY,
           of_summarize(lambda entry: replace(entry, key=entry.key[1:])),
           r"summarize\.total \[\d+\] values: ", r"summarize\.total \[\d+\] key groups: "),
    _plant("text that is cut", STATES, of_stateful("last_kind", with_value(b"\0\0")),
           r"stateful\.last_kind \[\d+\] values: "),
    _plant("constant that the enum lacks", STATES,
           of_stateful("last_kind", with_value(struct.pack(">i", 9))),
           r"stateful\.last_kind \[\d+\] values: "),
    _plant("negative number of a constant", STATES,
           of_stateful("last_kind", with_value(struct.pack(">i", -2))),
           r"stateful\.last_kind \[\d+\] values: "),
    _plant("list without the mark between its elements", STATES,
           of_stateful("memos", lambda entry: replace(entry, value=entry.value.replace(b",", b"!", 1))),
           r"stateful\.memos \[\d+\] values: "),
    _plant("thirteenth month", STATES, of_stateful("last_day", with_value(bytes([0, 0, 7, 208, 13, 1]))),
           r"stateful\.last_day \[\d+\] values: "),
    _plant("30 February", STATES, of_stateful("last_day", with_value(bytes([0, 0, 7, 208, 2, 30]))),
           r"stateful\.last_day \[\d+\] values: "),
    _plant("more nanoseconds than a second has", STATES,
           of_stateful("last_seen", with_value(struct.pack(">qi", 5, 2_000_000_000))),
           r"stateful\.last_seen \[\d+\] values: "),
    _plant("null flag that is 7", STATES,
           of_stateful("by_currency", lambda entry: replace(entry, value=b"\7" + entry.value[1:])),
           r"stateful\.by_currency \[\d+\] values: "),
    _plant("decimal of a negative size", STATES, of_stateful("balance", with_value(struct.pack(">i", -7))),
           r"stateful\.balance \[\d+\] values: "),
    _plant("POJO with an unknown flag", STATES,
           of_stateful("customer", lambda entry: replace(entry, value=b"\x40" + entry.value[1:])),
           r"stateful\.customer \[\d+\] values: "),
    _plant("time of last access that is cut", STATES,
           of_stateful("recent_memo", lambda entry: replace(entry, value=entry.value[:6])),
           r"stateful\.recent_memo \[\d+\] values: "),
    _plant("timer twice", STATES, edited("stateful", twice("_timer_state/event_user-timers")),
           r"stateful\._timer_state/event_user-timers \[.*\] unique keys: 1 keys"),
    _plant("timer of another key group", STATES,
           edited("stateful", first_of("_timer_state/event_user-timers",
                  lambda entry: replace(entry, key=entry.key[:8] + encoded(Text(), "someone") + b"\0"))),
           r"stateful\._timer_state/event_user-timers \[\d+\] key groups: 1 keys"),
    _plant("timer without its namespace", STATES,
           edited("stateful", first_of("_timer_state/event_user-timers",
                  lambda entry: replace(entry, key=entry.key[:-1]))),
           r"stateful\._timer_state/event_user-timers \[\d+\] values: "),
    _plant("window that ends before it begins", WINDOWS,
           edited("tumbling", first_of("window-contents", partial(in_window, start=9000, end=1000))),
           r"unchecked tumbling\.window-contents \[\d+\] values: .*ends before it begins"),
    _plant("timer of a window that ends before it begins", WINDOWS,
           edited("tumbling", first_of("_timer_state/event_window-timers", partial(in_window, start=9000, end=1000))),
           r"unchecked tumbling\._timer_state/event_window-timers \[\d+\] values: .*ends before"),
    _plant("window of no time", WINDOWS,
           edited("tumbling", first_of("window-contents", partial(in_window, start=9000, end=9000)))),
    _plant("window that is cut", WINDOWS,
           edited("tumbling", first_of("window-contents", lambda entry: replace(entry, key=entry.key[:-8]))),
           r"tumbling\.window-contents \[\d+\] values: "),
    # Sections and offsets.
    _plant("end mark that is not there", CURRENCY, flipped(keyed_file, -1), r"summarize\.\w* \[\d+\] sections: "),
    _plant("size of a key that is negative", CURRENCY,
           lambda savepoint: in_first_section(savepoint, 2, b"\xff\xff\xff\xff"),
           r"summarize\.\w* \[\d+\] sections: "),
    _plant("size of a key beyond the section", CURRENCY,
           lambda savepoint: in_first_section(savepoint, 2, b"\0\1\0\0"),
           r"summarize\.\w* \[\d+\] sections: "),
    _plant("state that the header lacks", CURRENCY,
           lambda savepoint: in_first_section(savepoint, 0, b"\0\7"),
           r"summarize\.\w* \[\d+\] sections: "),
    _plant("offsets of two key groups exchanged", CURRENCY, with_offsets(exchange_two),
           r"summarize\.\w* \[.*\] sections: "),
    _plant("two key groups at one offset", CURRENCY, with_offsets(at_one_offset),
           r"summarize\. \[\] offsets: key groups \d+ and \d+ begin at the same byte",
           r"summarize\.\w* \[.*\] sections: "),
    _plant("offset beyond the file", CURRENCY, with_offsets(beyond_the_file),
           r"summarize\. \[\] offsets: key group \d+ begins at 1099511627776",
           r"summarize\.\w* \[.*\] sections: "),
    _plant("negative offset", CURRENCY, with_offsets(negative_one), r"summarize\. \[\] offsets: ",
           r"summarize\.\w* \[.*\] sections: "),
    _plant("offset inside of a section", CURRENCY, with_offsets(in_a_section),
           r"summarize\. \[\] headers: 3 bytes too many"),
    _plant("key group whose offset is gone", CURRENCY, with_offsets(lose_one),
           r"summarize\.\w* \[.*\] "),
    # Records of _metadata.
    _plant("key groups of two subtasks overlap", CURRENCY,
           lambda savepoint: with_group_range(savepoint, 0, 180),
           r"summarize\. \[\] metadata: key groups 0 to 180, expected 0 to 149", r"summarize\."),
    _plant("key groups that no subtask has", CURRENCY,
           lambda savepoint: with_group_range(savepoint, 0, 140),
           r"summarize\. \[\] metadata: key groups 0 to 140, expected 0 to 149", r"summarize\."),
    _plant("subtask twice", CURRENCY,
           lambda savepoint: with_operator(savepoint, "summarize",
               lambda one: replace(one, subtasks=(*one.subtasks, one.subtasks[0]))),
           r"summarize\. \[\] metadata: subtask 0 once more", r"summarize\."),
    _plant("other max parallelism", CURRENCY,
           lambda savepoint: with_operator(savepoint, "summarize",
               lambda one: replace(one, max_parallelism=299)), r"summarize\."),
    _plant("uid with another hash", CURRENCY,
           lambda savepoint: with_operator(savepoint, "summarize",
               lambda one: replace(one, operator_id=OperatorId.from_uid("others"))),
           r"summarize\. \[\] metadata: uid 'summarize' has the hash"),
    _plant("size in a handle too large", CURRENCY, partial(with_other_size, more=9),
           r"summarize\. \[\] files: ", r"summarize\."),
    _plant("size in a handle too small", CURRENCY, partial(with_other_size, more=-9),
           r"summarize\."),
    _plant("_metadata that is cut", CURRENCY, cut(lambda savepoint: savepoint / METADATA_FILE, 30),
           r"\. \[\] metadata: "),
    _plant("_metadata with bytes behind it", CURRENCY,
           lambda savepoint: with_bytes(savepoint / METADATA_FILE, lambda data: data.extend(b"!!")),
           r"\. \[\] metadata: "),
    _plant("_metadata of another magic number", CURRENCY,
           flipped(lambda savepoint: savepoint / METADATA_FILE, 0), r"\. \[\] metadata: "),
    _plant("_metadata of version 99", CURRENCY,
           lambda savepoint: with_bytes(savepoint / METADATA_FILE,
               lambda data: data.__setitem__(slice(4, 8), struct.pack(">i", 99))),
           r"not read \. \[\] metadata: "),
    # Files.
    _plant("file that is gone", CURRENCY, removed(keyed_file), r"summarize\. \[\] files: "),
    _plant("file that is cut", CURRENCY, cut(keyed_file, 5), r"summarize\. \[\] files: ",
           r"summarize\."),
    _plant("empty file", CURRENCY, lambda savepoint: keyed_file(savepoint).write_bytes(b""),
           r"summarize\. \[\] (files|headers): ", r"summarize\."),
    _plant("longer file", CURRENCY,
           lambda savepoint: with_bytes(keyed_file(savepoint), lambda data: data.extend(b"!")),
           r"summarize\. \[\] files: ", r"summarize\."),
    _plant("files of two kinds exchanged", CURRENCY, exchanged_files,
           r"summarize\. \[\] (files|headers): ", r"currency_converter\. \[\] (files|headers): ",
           r"(summarize|currency_converter)\."),
    # Headers.
    _plant("header of another version", CURRENCY, flipped(keyed_file, 3), r"summarize\. \[\] headers: ",
           r"summarize\."),
    _plant("header without the serializer of values", CURRENCY, without_serializer,
           r"summarize\.total \[\] headers: the header doesn't name the value serializer",
           r"summarize\.total"),
    _plant("state of an unknown type", CURRENCY, partial(with_type, text="BAG"),
           r"summarize\.total \[\] headers: .*'BAG', which is not a type", r"summarize\.total"),
    _plant("serializer of shorter values", CURRENCY, with_serializer("total", constructed.integer()),
           r"summarize\.total \[.*\] values: "),
    _plant("serializer of texts for numbers", CURRENCY, with_serializer("count", constructed.string()),
           r"summarize\.count \[.*\] values: "),
    _plant("serializer of lists for numbers", CURRENCY,
           with_serializer("total", constructed.list_of(constructed.long())),
           r"summarize\.total \[.*\] values: "),
    # Files of the hashmap backend.
    _plant("heap: section of another key group", HEAP,
           lambda savepoint: in_first_section(savepoint, 3, b"\x7e"), r"summarize\.\w* \[.*\] sections: "),
    _plant("heap: one entry more than there is", HEAP,
           lambda savepoint: with_other_count(savepoint, 1), r"summarize\.\w* \[.*\] sections: "),
    _plant("heap: one entry less than there is", HEAP,
           lambda savepoint: with_other_count(savepoint, -1), r"summarize\.\w* \[.*\] sections: "),
    _plant("heap: negative number of entries", HEAP,
           lambda savepoint: with_other_count(savepoint, -1000), r"summarize\.\w* \[.*\] sections: "),
    _plant("compressed key group with a flipped byte", COMPRESSED,
           flipped(lambda savepoint: file_of(savepoint, "stateful"), -40), r"\w+\.\w* \[.*\] sections: "),
    # Files of RocksDB.
    _plant("table with a flipped byte", ROCKSDB, flipped(rocksdb_file(".sst"), 12),
           r"summarize\. \[\] checksums: ", r"summarize\.\w* \[.*\] sections: "),
    _plant("table with a flipped byte in its footer", ROCKSDB, flipped(rocksdb_file(".sst"), -3),
           r"summarize\.\w* \[.*\] (headers|checksums|files|sections): "),
    _plant("table that is cut", ROCKSDB, cut(rocksdb_file(".sst"), 60),
           r"summarize\. \[\] files: ", r"summarize\."),
    _plant("table that is gone", ROCKSDB, removed(rocksdb_file(".sst")), r"summarize\. \[\] files: "),
    _plant("table that no handle has", ROCKSDB, without_file(".sst"),
           r"summarize\. \[\] files: the manifest lists \d+\.sst, which the handle does not have"),
    _plant("manifest with a flipped byte", ROCKSDB, flipped(rocksdb_file("MANIFEST"), 20),
           r"summarize\. \[\] checksums: "),
    _plant("manifest that is gone", ROCKSDB, removed(rocksdb_file("MANIFEST")),
           r"summarize\. \[\] files: "),
    _plant("handle without a manifest", ROCKSDB, without_file("MANIFEST"),
           r"summarize\. \[\] files: CURRENT names 'MANIFEST-\d+', which the handle does not have"),
    _plant("handle without CURRENT", ROCKSDB, without_file("CURRENT"),
           r"summarize\. \[\] files: the handle has no CURRENT"),
    _plant("CURRENT that names another manifest", ROCKSDB,
           lambda savepoint: rocksdb_file("CURRENT")(savepoint).write_bytes(b"MANIFEST-999999\n"),
           r"summarize\. \[\] files: CURRENT names 'MANIFEST-999999'"),
    # Changelogs.
    _plant("changelog that is gone", CHANGELOG, removed(change_file),
           r"\. \[\] files: ", r"\."),
    _plant("changelog with a flipped size", CHANGELOG,
           flipped(change_file, 3), r"\w+\."),
    # Operator state.
    _plant("element beyond the file", CURRENCY,
           with_element_offsets(lambda offsets: (*offsets[:-1], 1 << 33), "currency_converter"),
           r"currency_converter\.rates \[\] offsets: ", r"currency_converter\.rates \[\] values: ",
           r"currency_converter\. \[\] headers: "),
    _plant("elements in descending order", STATES,
           with_element_offsets(lambda offsets: offsets[::-1], "buffer"), r"buffer\.\w+ \[\] offsets: ",
           r"buffer\.\w+ \[\] values: "),
    _plant("broadcast map of too many entries", CURRENCY,
           lambda savepoint: in_broadcast(savepoint, struct.pack(">i", 600)),
           r"currency_converter\.rates \[\] values: "),
    # Nobody can tell.
    _plant("other value", CURRENCY, of_summarize(with_value(DOUBLE)),
           why="canonical files and those of the hashmap backend have no checksums: eight other bytes"
               " are another double"),
    _plant("serializer of as many bytes", CURRENCY, with_serializer("total", constructed.long()),
           why="a long and a double have eight bytes each, and any eight bytes are both"),
    _plant("entry that is gone", CURRENCY, of_summarize(lambda _: None),
           why="no file counts its entries"),
    _plant("key group without its entries", CURRENCY, edited("summarize", without_group),
           why="a key group without entries has the offset 0 in any savepoint"),
    _plant("subtask without its state", CURRENCY,
           lambda savepoint: with_first_subtask(savepoint, managed_keyed_state=None),
           why="a subtask whose key groups have no entries has no handle in any savepoint"),
    _plant("coordinator with other bytes", CURRENCY,
           lambda savepoint: with_operator(savepoint, "transactions_source", with_other_coordinator),
           why="only its operator knows the format"),
)  # fmt: skip
