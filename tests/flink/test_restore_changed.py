"""Savepoints whose states have other names, classes and fields, restored by a job that has them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from support.flink_restore import (
    BACKENDS,
    RELEASES,
    FlinkRestore,
    KeyedState,
    Operator,
    RestoreError,
)
from support.sample_operators import GROUP_AGGREGATE, STATEFUL
from support.sample_rows import Sample, in_order

from state_processor import (
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor.savepoint.spark_savepoint import SparkSavepoint

everywhere = pytest.mark.parametrize(
    ("flink", "backend"), [(flink, backend) for flink in RELEASES for backend in BACKENDS]
)


def load(spark: SparkSession, sample: Sample) -> SparkSavepoint:
    return Savepoint.load(spark, sample.path, uids=sample.uids)


def with_customer(pojo: str) -> Operator:
    """The operator as a job has it whose customers are of another class."""
    states = (
        KeyedState.value("customer", f"POJO<{pojo}>") if state.name == "customer" else state
        for state in STATEFUL.states
    )
    return replace(STATEFUL, states=tuple(states))


def buyer(customer: dict[str, Any] | None) -> dict[str, Any] | None:
    """A customer as a ``changed.Buyer``."""
    if customer is None:
        return None
    kept = {name: value for name, value in customer.items() if name != "lastAmount"}
    address = customer["address"]
    place = address and {"city": address["city"], "postcode": address["zip"]}
    return kept | {"latestAmount": customer["lastAmount"], "address": place}


def client(customer: dict[str, Any] | None, row: dict[str, Any]) -> dict[str, Any] | None:
    """A customer as a ``changed.Client``."""
    found = buyer(customer)
    if found is None:
        return None
    names = ("age", "address", "purchases", "adult")
    amount, is_vip = found["latestAmount"], row["last_id"] > 100
    kept = {name: found[name] for name in names}
    return kept | {"fullName": found["name"], "lastAmount": amount, "vip": is_vip}


@everywhere
def test_a_class_and_fields_have_other_names_in_the_headers(
    flink_restore: FlinkRestore, spark: SparkSession, tmp_path: Path, flink: str, backend: str
) -> None:
    sample = Sample(f"states-{flink}-{backend}-native")
    renamed = (
        load(spark, sample)
        .rename_class("shop.Customer", "changed.Buyer")
        .rename_class("shop.Address", "changed.Place")
        .rename_field("stateful", "customer", "lastAmount", "latestAmount")
        .rename_field("stateful", "customer", "address.zip", "postcode")
    )
    renamed.write(str(tmp_path / "renamed"))
    operator = with_customer("changed.Buyer")
    restored = flink_restore(tmp_path / "renamed", operator, flink=flink, backend=backend)
    expected = [
        row | {"customer": buyer(row["customer"])} for row in sample.keyed_state("stateful")
    ]
    assert restored.keyed_state("stateful") == in_order(expected)
    assert restored.timers("stateful") == in_order(sample.operators()["stateful"]["timers"])


CHANGES = """
- rename-class:
    classes: {shop.Customer: changed.Client, shop.Address: changed.Place}
- rename-field: {operator: stateful, state: customer, old: name, new: fullName}
- rename-field: {operator: stateful, state: customer, old: address.zip, new: postcode}
- add-field:
    {operator: stateful, state: customer, field: vip, type: BOOLEAN, value: last_id > 100}
- widen-field: {operator: stateful, state: customer, field: purchases, type: LONG}
- drop-field: {operator: stateful, state: customer, field: tags}
"""


@everywhere
def test_fields_are_added_dropped_widened_and_renamed_by_a_file(
    flink_restore: FlinkRestore, spark: SparkSession, tmp_path: Path, flink: str, backend: str
) -> None:
    sample = Sample(f"states-{flink}-{backend}-native")
    changes = tmp_path / "changes.yaml"
    changes.write_text(CHANGES)
    load(spark, sample).apply(changes).write(str(tmp_path / "changed"))
    operator = with_customer("changed.Client")
    restored = flink_restore(tmp_path / "changed", operator, flink=flink, backend=backend)
    expected = [
        row | {"customer": client(row["customer"], row)} for row in sample.keyed_state("stateful")
    ]
    assert restored.keyed_state("stateful") == in_order(expected)


@pytest.mark.parametrize("flink", RELEASES)
def test_without_the_change_flink_refuses_the_new_class(
    flink_restore: FlinkRestore, flink: str
) -> None:
    sample = Sample(f"states-{flink}-hashmap-canonical")
    with pytest.raises(RestoreError, match=r"(?i)serializer"):
        flink_restore(sample.path, with_customer("changed.Client"), flink=flink)


@everywhere
def test_a_row_of_sql_has_another_field_at_its_end(
    flink_restore: FlinkRestore, spark: SparkSession, tmp_path: Path, flink: str, backend: str
) -> None:
    sample = Sample(f"sql-{flink}-hashmap-canonical")
    uid = GROUP_AGGREGATE.uid
    longer = load(spark, sample).add_field(uid, "accState", "f5", "INT", 7)
    longer.write(str(tmp_path / "longer"))
    fields = "f0 BIGINT, f1 DECIMAL(38, 2), f2 BIGINT, f3 BIGINT, f4 STRING, f5 INT"
    state = KeyedState.value("accState", f"ROW_DATA<ROW<{fields}>>")
    operator = replace(GROUP_AGGREGATE, states=(state,))
    restored = flink_restore(tmp_path / "longer", operator, flink=flink, backend=backend)
    before = flink_restore(sample.path, GROUP_AGGREGATE, flink=flink, backend=backend)
    expected = [row | {"accState": row["accState"] | {"f5": 7}} for row in before.keyed_state(uid)]
    assert restored.keyed_state(uid) == in_order(expected)


@everywhere
def test_a_row_of_sql_has_another_field_before_others(
    flink_restore: FlinkRestore,
    spark: SparkSession,
    corpus: Path,
    tmp_path: Path,
    flink: str,
    backend: str,
) -> None:
    case, uid = "stream-exec-group-aggregate_1/group-aggregate-simple", "4_group-aggregate"
    plan = corpus / "sql-plans" / f"{case}.json"
    savepoint = Savepoint.load(spark, corpus / "sql" / case, plan=plan)
    number = F.col("accState.cnt").cast("int") + 7
    savepoint.add_field(uid, "accState", "rest", "INT", number, before="avg_a_sum").write(
        tmp_path / "new"
    )
    fields = "f0 BIGINT, f1 INT, f2 BIGINT, f3 BIGINT, f4 STRING"
    operator = Operator(
        uid,
        key="ROW_DATA<ROW<f0 BIGINT>>",
        states=(KeyedState.value("accState", f"ROW_DATA<ROW<{fields}>>"),),
    )
    restored = flink_restore(tmp_path / "new", operator, flink=flink, backend=backend)
    rows = {row["key"]["f0"]: row["accState"] for row in restored.keyed_state(uid)}
    values = {
        key: {name: row[name] for name in ("f0", "f1", "f2", "f3", "f4")}
        for key, row in rows.items()
    }
    assert values == {
        1: {"f0": 1, "f1": 8, "f2": 0, "f3": 0, "f4": "Hi"},
        2: {"f0": 2, "f1": 9, "f2": 4, "f3": 2, "f4": "Hello"},
    }


@everywhere
def test_values_are_corrected_and_keys_deleted(
    flink_restore: FlinkRestore, spark: SparkSession, tmp_path: Path, flink: str, backend: str
) -> None:
    sample = Sample(f"states-{flink}-{backend}-native")
    changed = (
        load(spark, sample)
        .update_state("stateful", "last_id", F.col("last_id") + 1, where="last_id > 100")
        .rename_state("stateful", "last_id", "newest_id")
        .delete_keys("stateful", "key LIKE '%1'")
    )
    changed.write(str(tmp_path / "changed"))
    states = (
        replace(state, name="newest_id") if state.name == "last_id" else state
        for state in STATEFUL.states
    )
    operator = replace(STATEFUL, states=tuple(states))
    restored = flink_restore(tmp_path / "changed", operator, flink=flink, backend=backend)
    kept = [row for row in sample.keyed_state("stateful") if not row["key"].endswith("1")]
    expected = []
    for row in kept:
        others = {name: value for name, value in row.items() if name != "last_id"}
        newest = row["last_id"] and row["last_id"] + (row["last_id"] > 100)
        expected.append(others | {"newest_id": newest})
    assert restored.keyed_state("stateful") == in_order(expected)
    timers = sample.operators()["stateful"]["timers"]
    assert restored.timers("stateful") == in_order(
        timer for timer in timers if not timer["key"].endswith("1")
    )


PLACE = Types.POJO("changed.Place", {"postcode": Types.INT(), "zCity": Types.STRING()})
AROUND = {
    "pair": (Types.TUPLE([Types.LONG(), PLACE]), "TUPLE<LONG, {}>", "f1."),
    "lists": (Types.LIST(Types.LIST(PLACE)), "LIST<LIST<{}>>", ""),
    "array": (Types.OBJECT_ARRAY(PLACE, "changed.Place"), "OBJECT_ARRAY<{}>", ""),
    "row": (Types.ROW([Types.LONG(), PLACE]), "ROW<LONG, {}>", "f1."),
    "either": (Types.EITHER(Types.LONG(), PLACE), "EITHER<LONG, {}>", "right."),
    "by_name": (Types.MAP(Types.STRING(), Types.LIST(PLACE)), "MAP<STRING, LIST<{}>>", ""),
}
"""State -> its type, the type in words around the POJO, and the path to the POJO."""


def test_fields_of_pojos_in_containers_have_other_names(
    flink_restore: FlinkRestore, spark: SparkSession, tmp_path: Path
) -> None:
    """The new name changes the order of the fields, so that all values are encoded anew."""
    place = "named_struct('postcode', 1, 'zCity', 'Ulm')"
    data = spark.sql(
        f"SELECT 'a' key, named_struct('f0', 7L, 'f1', {place}) pair,"
        f" array(array({place}, null), array()) lists, array({place}) array,"
        f" named_struct('f0', 8L, 'f1', {place}, '$row_kind', '+I') row,"
        f" named_struct('left', CAST(NULL AS BIGINT), 'right', {place}) either,"
        f" map('m', array({place})) by_name"
    )
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key", key_type=Types.STRING())
    for name, (value, _, _) in AROUND.items():
        keyed = keyed.with_state(ValueStateDescriptor(name, value))
    Savepoint.create(spark).with_operator("places", keyed).write(str(tmp_path / "first"))
    changed = Savepoint.load(spark, str(tmp_path / "first"), uids=["places"]).writer()
    for name, (_, _, path) in AROUND.items():
        changed = changed.rename_field("places", name, f"{path}zCity", "city")
        changed = changed.drop_field("places", name, f"{path}postcode")
        changed = changed.add_field("places", name, f"{path}postcode", Types.INT(), 89)
    changed.write(str(tmp_path / "changed"))
    states = (
        KeyedState.value(name, words.format("POJO<changed.Place>"))
        for name, (_, words, _) in AROUND.items()
    )
    operator = Operator("places", "STRING", tuple(states))
    (found,) = flink_restore(tmp_path / "changed", operator).keyed_state("places")
    new = {"city": "Ulm", "postcode": 89}
    assert found == {
        "key": "a",
        "pair": {"f0": 7, "f1": new},
        "lists": [[new, None], []],
        "array": [new],
        "row": {"f0": 8, "f1": new},
        "either": {"right": new},
        "by_name": {"m": [new]},
    }


def test_changes_in_order_with_times_to_live_and_a_state_of_another_type(
    flink_restore: FlinkRestore, spark: SparkSession, tmp_path: Path
) -> None:
    """Flink shows no value that was last accessed before its time to live, an hour."""

    def timed(minutes: int, value: str) -> str:
        ago = f"timestampadd(MINUTE, -{minutes}, current_timestamp())"
        moment = f"timestamp_millis(unix_millis({ago}))"
        return f"named_struct('timestamp', {moment}, 'value', {value})"

    old, new = timed(120, "'old'"), timed(1, "'new'")
    none = timed(1, "CAST(NULL AS STRING)")
    data = spark.sql(
        "SELECT key, number x, number + 10 y, 'text' z,"
        f" array({old}, {new}) texts, map('old', {old}, 'none', {none}) entries"
        " FROM VALUES ('a', 1L), ('b', 2L), ('c', 3L) AS rows(key, number)"
    )
    text = Types.STRING()
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key", key_type=text)
    for name, value in (("x", Types.LONG()), ("y", Types.LONG()), ("z", text)):
        keyed = keyed.with_state(ValueStateDescriptor(name, value))
    keyed = keyed.with_state(ListStateDescriptor("texts", text).with_ttl())
    keyed = keyed.with_state(MapStateDescriptor("entries", text, text).with_ttl())
    Savepoint.create(spark).with_operator("all", keyed).write(str(tmp_path / "first"))
    numbers = spark.sql("SELECT 'a' key, 7L z, map('k', 8L) fresh")
    anew = (
        OperatorTransformation.bootstrap_with(numbers)
        .key_by("key", key_type=text)
        .with_state(ValueStateDescriptor("z", Types.LONG()))
        .with_state(MapStateDescriptor("fresh", text, Types.LONG()))
    )
    first = Savepoint.load(spark, str(tmp_path / "first"), uids=["all"])
    changed = (
        first.rename_state("all", "x", "w")
        .rename_state("all", "y", "x")
        .rename_state("all", "w", "y")
        .update_state("all", "x", "x * y", where="x > 11")
        .update_state("all", "texts", "concat(texts, array('more'))", where="key = 'a'")
        .update_state("all", "entries", "map_concat(entries, map('n', 'v'))", where="key = 'a'")
        .delete_keys("all", "y = 3")
        .with_state("all", anew)
    )
    changed.write(str(tmp_path / "changed"))
    hour = 3_600_000
    states = (
        KeyedState.value("x", "LONG"),
        KeyedState.value("y", "LONG"),
        KeyedState.value("z", "LONG"),
        KeyedState.map("fresh", "STRING", "LONG"),
        KeyedState.list("texts", "STRING").with_ttl(hour),
        KeyedState.map("entries", "STRING", "STRING").with_ttl(hour),
    )
    restored = flink_restore(tmp_path / "changed", Operator("all", "STRING", states))
    a, b = restored.keyed_state("all")
    assert a["entries"] == {"none": None, "n": "v"}
    assert b["entries"] == {"none": None}
    assert (a["texts"], b["texts"]) == (["new", "more"], ["new"])
    assert (a["x"], a["y"], a["z"], a["fresh"]) == (11, 1, 7, {"k": 8})
    assert (b["x"], b["y"], b.get("z"), b.get("fresh")) == (24, 2, None, None)
