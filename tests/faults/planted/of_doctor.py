"""What ``doctor`` must tell of savepoints, releases and new jobs, and near misses of it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from support.commands import result_of
from support.hand_made import STRING, canonical_base, header, meta_info, savepoint_of
from support.sample_rows import SAMPLES
from support.serializer_snapshots import RUNTIME
from support.state_v2 import as_v2

from faults.planted.editing import (
    copied,
    with_first_handle,
    with_headers,
    with_metadata,
    with_operator,
    with_subtasks,
)
from faults.planted.of_verify import CHANGELOG, CURRENCY, HEAP, ROCKSDB
from faults.planted.plant import Plant
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.metadata import InlineStream, KeyedHandleType
from savepoint_formats.metadata.operator_handles import ChannelStateHandle
from savepoint_formats.snapshots import TypeSerializerSnapshot, constructed
from savepoint_formats.snapshots.snapshot import OpaqueSnapshot
from savepoint_formats.state_files.header import KEYED_STATE_TYPE, VALUE_SERIALIZER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from savepoint_formats.state_files.header import StateMetaInfo

OLD = "currency-1.20.5-hashmap-canonical"
_JOB = ("--job",)
_TO_2 = ("--target", "2.2")
_NOTHING_PLANTED = "as it is"
_UIDS = [word for uid in ("summarize", "currency_converter") for word in ("--uid", uid)]


def told(plant: Plant, folder: Path) -> list[str]:
    """What ``doctor`` tells of a planted copy, and does not tell of the sample itself.

    ``<verdict>: <rule> of <operator>.<state> <where>``. With ``--job`` the copy is the new job.
    """
    if plant.sample:
        before, after = SAMPLES / plant.sample, copied(plant.sample, folder)
        words = plant.plant(after)
    else:
        before, after = folder / "before", folder / "after"
        words = plant.plant(folder)
    words = [*(words if isinstance(words, tuple) else _JOB), *_UIDS]
    if words[0] == _NOTHING_PLANTED:
        known, facts = [], _facts(after, *words[1:])
    elif words[0] == "--job":
        known = _facts(before, "--job", before, *words[1:])
        facts = _facts(before, "--job", after, *words[1:])
    else:
        known, facts = _facts(before, *words), _facts(after, *words)
    return [fact for fact in facts if fact not in known]


def _facts(*words: str | Path) -> list[str]:
    result = result_of("doctor", *words, "--output", "json")
    if result.exit_code not in (0, 3):
        return [f"exit code {result.exit_code}: {result.stderr}"]
    answer = json.loads(result.stdout)
    assert answer["is_restorable"] == (result.exit_code == 0)
    return list(_findings(answer))


def _findings(answer: dict[str, Any]) -> Iterator[str]:
    places = [("", answer["findings"])]
    for operator in answer["operators"]:
        places.append((operator["operator"], operator["findings"]))
        for state in operator["states"]:
            places.append((f"{operator['operator']}.{state['state']}", state["findings"]))
    for place, findings in places:
        for finding in findings:
            assert finding["reason"]
            assert finding["advice"]
            yield f"{finding['verdict']}: {finding['rule']} of {place} {finding['where']}"


def _plant(
    name: str, sample: str, plant: Callable[[Path], object], *says: str, why: str = ""
) -> Plant:
    return Plant("doctor", name, sample, plant, says, why)


def _typed(
    name: str, old: TypeSerializerSnapshot, new: TypeSerializerSnapshot, *says: str, kind: str = "VALUE",
    words: tuple[str, ...] = _JOB,
) -> Plant:  # fmt: skip
    """A state of two types, in the savepoint and in the new job."""
    return _plant(name, "", partial(_pair, (old, new), kind, words), *says)


def _pair(
    types: tuple[TypeSerializerSnapshot, TypeSerializerSnapshot],
    kind: str,
    words: tuple[str, ...],
    folder: Path,
) -> tuple[str, ...]:
    """Savepoints without entries: headers are all that the doctor compares."""
    for name, snapshot in zip(("before", "after"), types, strict=True):
        (folder / name).mkdir()
        view = DataOutputView()
        snapshot.write(view)
        head = header(meta_info("state", kind, view.to_bytes()), key=STRING)
        savepoint_of(canonical_base(head, ()), folder / name)
    return words


def _changed(
    name: str, change: Callable[[StateMetaInfo], StateMetaInfo], *words: str
) -> Callable[[Path], object]:
    """Changes the header of a state."""

    def plant(savepoint: Path) -> object:
        with_headers(savepoint, lambda info: change(info) if info.name == name else info)
        return words or _JOB

    return plant


def _serializer(
    name: str, snapshot: TypeSerializerSnapshot, *words: str
) -> Callable[[Path], object]:
    return _changed(name, lambda info: _with(info, snapshot), *words)


def _with(info: StateMetaInfo, snapshot: TypeSerializerSnapshot) -> StateMetaInfo:
    return replace(
        info,
        serializers=tuple(
            (role, snapshot if role == VALUE_SERIALIZER else entry)
            for role, entry in info.serializers
        ),
    )


def _record(operator: str, *words: str, **changes: Any) -> Callable[[Path], object]:
    def plant(savepoint: Path) -> object:
        with_operator(savepoint, operator, lambda one: replace(one, **changes))
        return words or _JOB

    return plant


def _named(uid: str) -> dict[str, Any]:
    return {"uid": uid, "operator_id": OperatorId.from_uid(uid)}


def _without_operator(savepoint: Path) -> object:
    wanted = OperatorId.from_uid("summarize")
    with_metadata(
        savepoint,
        lambda one: replace(
            one, operators=tuple(o for o in one.operators if o.operator_id != wanted)
        ),
    )
    return _JOB


def _new_operator(savepoint: Path) -> object:
    def change(one: Any) -> Any:
        wanted = OperatorId.from_uid("currency_converter")
        (other,) = (o for o in one.operators if o.operator_id == wanted)
        new = replace(other, **_named("new"))
        return replace(one, operators=(*one.operators, new))

    with_metadata(savepoint, change)
    return _JOB


def _in_flight(savepoint: Path, *words: str) -> object:
    def change(subtask: Any) -> Any:
        stream = InlineStream("in-flight", b"12345678")
        channel = ChannelStateHandle(None, 0, (0, 0), (0,), 8, stream)
        return replace(subtask, input_channels=(channel,))

    with_subtasks(savepoint, "summarize", change)
    return words


def _as_type(kind: KeyedHandleType, *words: str) -> Callable[[Path], object]:
    """Handles of keyed state of another type."""

    def plant(savepoint: Path) -> object:
        with_first_handle(
            savepoint, "summarize", lambda handle: replace(handle, type=kind, handle_id=None)
        )
        return words

    return plant


def _without_uids(savepoint: Path) -> object:
    with_operator(savepoint, "", lambda one: replace(one, uid="", name=""))
    return _TO_2


def _twice(savepoint: Path) -> object:
    """Two states of one name."""
    with_headers(
        savepoint, lambda info: replace(info, name="total") if info.name == "count" else info
    )
    return _TO_2


def _as_it_is(*words: str) -> Callable[[Path], object]:
    """Plants nothing: a release, or a backend, does not fit to the sample."""
    return lambda _: (_NOTHING_PLANTED, *words)


def _as_v2(savepoint: Path) -> object:
    with_headers(savepoint, as_v2)
    return (*_TO_2, "--backend", "rocksdb")


def _v2_for_itself(savepoint: Path) -> object:
    with_headers(savepoint, as_v2)
    return (_NOTHING_PLANTED, "--job", str(savepoint))


INT, LONG, TEXT = constructed.integer(), constructed.long(), constructed.string()
DOUBLE = constructed.double()


def _pojo(**fields: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    return constructed.pojo("shop.P", fields)


def _enum(*names: str) -> TypeSerializerSnapshot:
    return constructed.enum_of("shop.Color", names)


KRYO = constructed.kryo("shop.Thing")
OWN = OpaqueSnapshot("shop.OwnSnapshot", 1, body=b"", reason="its class is not known")
PRODUCER = "org.apache.flink.streaming.connectors.kafka.FlinkKafkaProducer"
STATE = r"^{}: {} of \w+\.state "


def _says(verdict: str, rule: str) -> str:
    return STATE.format(verdict, rule)


GONE, LATER, MAYBE, FINE = "not restorable", "restorable after migration", "unknown", "restorable"

ALWAYS = rf"^{FINE}: max-parallelism of "
UID = rf"^{FINE}: uid of "

DOCTOR = (
    # A new job with other types.
    _typed("the same type", LONG, LONG),
    _typed("number of another type", LONG, DOUBLE, _says(GONE, "type-changed")),
    _typed("wider number that is no field", INT, LONG, _says(GONE, "type-changed")),
    _typed("wider field of a POJO", _pojo(a=INT), _pojo(a=LONG), _says(LATER, "field-widened")),
    _typed("narrower field of a POJO", _pojo(a=LONG), _pojo(a=INT), _says(GONE, "type-changed")),
    _typed("int field that is a float now", _pojo(a=INT), _pojo(a=constructed.single()),
           _says(GONE, "type-changed")),
    _typed("new field of a POJO", _pojo(a=INT), _pojo(a=INT, b=LONG), _says(FINE, "field-added")),
    _typed("lost field of a POJO", _pojo(a=INT, b=LONG), _pojo(a=INT), _says(FINE, "field-removed")),
    _typed("renamed field of a POJO", _pojo(a=INT, b=LONG), _pojo(a=INT, c=LONG), _says(FINE, "field-renamed"), _says(FINE, "field-added")),
    _typed("other field of another type", _pojo(a=INT, b=LONG), _pojo(a=INT, c=TEXT),
           _says(FINE, "field-removed"), _says(FINE, "field-added")),
    _typed("fields of a POJO in another order", _pojo(a=INT, b=LONG), _pojo(b=LONG, a=INT)),
    _typed("renamed class", _pojo(a=INT), constructed.pojo("shop.Q", {"a": INT}), _says(LATER, "class-renamed")),
    _typed("other class", _pojo(a=INT), constructed.pojo("shop.Q", {"b": INT}), _says(GONE, "type-changed")),
    _typed("POJO that is Kryo's now", _pojo(a=INT), constructed.kryo("shop.P"), _says(GONE, "pojo-kryo")),
    _typed("other class of Kryo", KRYO, constructed.kryo("shop.Other"), _says(GONE, "other-class")),
    _typed("registration of Kryo that is new", constructed.kryo("shop.Thing", ["shop.A"]),
           constructed.kryo("shop.Thing", ["shop.A", "shop.B"]), _says(FINE, "kryo-registrations")),
    _typed("registrations of Kryo in another order", constructed.kryo("shop.Thing", ["shop.A", "shop.B"]),
           constructed.kryo("shop.Thing", ["shop.B", "shop.A"]), _says(FINE, "kryo-registrations")),
    _typed("registration of Kryo that is lost", constructed.kryo("shop.Thing", ["shop.A"]), KRYO,
           _says(FINE, "kryo-registrations")),
    _typed("tuple of more fields", constructed.tuple_of([INT]), constructed.tuple_of([INT, INT]),
           _says(GONE, "arity-changed")),
    _typed("field of a tuple of another type", constructed.tuple_of([INT, TEXT]),
           constructed.tuple_of([INT, LONG]), _says(GONE, "type-changed")),
    _typed("constant of an enum that is lost", _enum("A", "B"), _enum("A"), _says(GONE, "enum-constant-removed")),
    _typed("constants of an enum in another order", _enum("A", "B"), _enum("B", "A"), _says(FINE, "enum-order")),
    _typed("constant of an enum that is new", _enum("A"), _enum("A", "B"), _says(FINE, "enum-order")),
    _typed("TTL that is new, before 2.2", LONG, constructed.ttl(LONG), _says(GONE, "ttl-changed"),
           words=("--job", "--target", "2.1")),
    _typed("TTL that is new, from 2.2 on", LONG, constructed.ttl(LONG), _says(FINE, "ttl-migrated"),
           words=("--job", "--target", "2.2")),
    _typed("TTL that is gone", constructed.ttl(LONG), LONG, _says(FINE, "ttl-migrated"),
           words=("--job", "--target", "2.2")),
    _typed("element of a list of another type", constructed.list_of(LONG), constructed.list_of(TEXT),
           _says(GONE, "type-changed"), kind="LIST"),
    _typed("key of a map that evolved, on RocksDB", constructed.map_of(_pojo(a=INT), LONG),
           constructed.map_of(_pojo(a=INT, b=INT), LONG), _says(GONE, "map-key-evolved"),
           _says(FINE, "field-added"), kind="MAP", words=("--job", "--backend", "rocksdb")),
    _typed("key of a map that evolved, on the heap", constructed.map_of(_pojo(a=INT), LONG),
           constructed.map_of(_pojo(a=INT, b=INT), LONG), _says(FINE, "field-added"), kind="MAP",
           words=("--job", "--backend", "hashmap")),
    _typed("value of a map that evolved, on RocksDB", constructed.map_of(LONG, _pojo(a=INT)),
           constructed.map_of(LONG, _pojo(a=INT, b=INT)), _says(FINE, "field-added"), kind="MAP",
           words=("--job", "--backend", "rocksdb")),
    _typed("serializer of the job", LONG, OWN, _says(MAYBE, "serializer-changed")),
    # A new job with other states and operators.
    _plant("nothing", CURRENCY, lambda _: _JOB),
    _plant("state that is new and one that is gone", CURRENCY,
           _changed("total", lambda info: _with(replace(info, name="memo"), TEXT)),
           rf"^{FINE}: state-not-used of summarize\.total", rf"^{FINE}: state-new of summarize\.memo"),
    _plant("state under another name", CURRENCY, _changed("total", lambda info: replace(info, name="sum")),
           rf"^{FINE}: state-renamed of summarize\.total total → sum", rf"^{FINE}: state-new of summarize\.sum"),
    _plant("state of another kind", CURRENCY,
           _changed("total", lambda info: replace(info, options=((KEYED_STATE_TYPE, "REDUCING"),))),
           rf"^{GONE}: state-kind of summarize\.total value → reducing"),
    _plant("operator that is gone", CURRENCY, _without_operator,
           rf"^{LATER}: operator-missing of summarize "),
    _plant("operator under another uid", CURRENCY, _record("summarize", **_named("sums")),
           rf"^{LATER}: operator-moved of summarize summarize → sums", rf"^{FINE}: operator-new of sums"),
    _plant("operator that is new", CURRENCY, _new_operator, rf"^{FINE}: operator-new of new "),
    _plant("operator under another name alone", CURRENCY, _record("summarize", name="Summe")),
    _plant("other max parallelism", CURRENCY, _record("summarize", max_parallelism=200),
           rf"^{LATER}: other-max-parallelism of summarize 300 → 200"),
    _plant("max parallelism that Flink gives", CURRENCY, _record("summarize", max_parallelism=128),
           rf"^{FINE}: default-max-parallelism of summarize 300 → 128"),
    _plant("other max parallelism without keys", CURRENCY, _record("transactions_source", max_parallelism=200)),
    _plant("more subtasks than key groups", CURRENCY, _record("summarize", parallelism=301, max_parallelism=400),
           rf"^{LATER}: other-max-parallelism of summarize 300 → 400", rf"^{LATER}: too-many-subtasks of summarize parallelism 301 > 300"),
    _plant("as many subtasks as key groups", CURRENCY, _record("summarize", parallelism=300)),
    # Another release, or another backend.
    _plant("to Flink 2: Kryo", OLD, _serializer("total", KRYO, *_TO_2),
           r"^silent corruption: kryo of summarize\.total value: shop\.Thing"),
    _plant("to Flink 2: list of Kryo in a POJO", OLD,
           _serializer("total", _pojo(tags=constructed.kryo("java.util.List")), *_TO_2),
           rf"^{LATER}: kryo-collection of summarize\.total value\.tags: java\.util\.List"),
    _plant("within Flink 1: Kryo", OLD, _serializer("total", KRYO, "--target", "1.20")),
    _plant("to Flink 2: replaced serializer", OLD,
           _serializer("total", constructed.snapshot_of(f"{RUNTIME}EitherSerializerSnapshot", nested=[LONG, LONG], outer_version=1), *_TO_2),
           rf"^{LATER}: replaced-serializer of summarize\.total"),
    _plant("to Flink 2: serializer of the job", OLD, _serializer("total", OWN, *_TO_2),
           rf"^{MAYBE}: unknown-serializer of summarize\.total value: shop\.OwnSnapshot"),
    _plant("to Flink 2: producer of Kafka", OLD,
           _serializer("rates", OpaqueSnapshot(f"{PRODUCER}$ContextStateSerializerSnapshot", 3, body=b"",
                                              reason="its class is not known"), *_TO_2),
           rf"^{LATER}: kafka-producer of currency_converter\.rates",
           rf"^{MAYBE}: unknown-serializer of currency_converter\.rates"),
    _plant("records in flight, to another release", OLD,
           lambda savepoint: _in_flight(savepoint, *_TO_2),
           rf"^{MAYBE}: in-flight of summarize records in flight"),
    _plant("operators without uids", CURRENCY, _without_uids, rf"^{MAYBE}: no-uid of ", r" of "),
    _plant("two states of one name", CURRENCY, _twice, rf"^{MAYBE}: state-twice of summarize\.total total"),
    _plant("_metadata that the release does not know", CURRENCY, _as_it_is("--target", "1.18"),
           rf"^{GONE}: metadata-version of  _metadata of version \d", ALWAYS),
    _plant("release that is older than the one that wrote it", OLD,
           _as_it_is("--target", "1.18", "--from", "1.20"), rf"^{MAYBE}: downgrade of ", ALWAYS, UID),
    _plant("release that is newer than the one that wrote it", OLD,
           _as_it_is("--target", "1.20", "--from", "1.18"), ALWAYS, UID),
    _plant("files of RocksDB for the hashmap backend", ROCKSDB, _as_it_is(*_TO_2, "--backend", "hashmap"),
           rf"^{LATER}: native-of-rocksdb of summarize ", ALWAYS),
    _plant("files of RocksDB for RocksDB", ROCKSDB, _as_it_is(*_TO_2, "--backend", "rocksdb"), ALWAYS),
    _plant("files of RocksDB for ForSt", ROCKSDB, _as_it_is(*_TO_2, "--backend", "forst"),
           rf"^{MAYBE}: native-of-rocksdb-on-forst of summarize ", ALWAYS),
    _plant("files of the hashmap backend for RocksDB", HEAP, _as_it_is(*_TO_2, "--backend", "rocksdb"),
           rf"^{LATER}: native-of-hashmap of summarize ", ALWAYS),
    _plant("files of a backend that nobody names", HEAP, _as_it_is(*_TO_2),
           rf"^{FINE}: native of summarize ", ALWAYS),
    _plant("canonical files for ForSt", CURRENCY, _as_it_is(*_TO_2, "--backend", "forst"),
           rf"^{GONE}: forst-canonical of summarize ", ALWAYS),
    _plant("canonical files for RocksDB", CURRENCY, _as_it_is(*_TO_2, "--backend", "rocksdb"), ALWAYS),
    _plant("changelog for another release", CHANGELOG, _as_it_is("--target", "1.20", "--from", "1.19",
                                                                 "--backend", "hashmap"),
           rf"^{MAYBE}: changelog of ", rf"^{FINE}: changelog-enabled of ", ALWAYS, UID),
    _plant("state V2", ROCKSDB, _as_v2,
           rf"^{LATER}: state-v2 of summarize\.total", rf"^{LATER}: state-v2 of summarize\.count"),
    _plant("state V2 for its own job", ROCKSDB, _v2_for_itself, rf"^{FINE}: state-v2-on-forst of summarize\.",
           ALWAYS),
    _plant("files of before 1.13", HEAP, _as_type(KeyedHandleType.KEY_GROUPS_V1, *_TO_2, "--backend", "hashmap"),
           rf"^{MAYBE}: backend-format-before-1\.13 of summarize "),
)  # fmt: skip
