"""State of Flink's API for Scala, migrated to flink-scala-api: the bytes that its own job wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.scala_rows import UIDS, UNORDERED, old_savepoint, stored_states, without_order
from support.scala_sample import SAMPLE

from savepoint_formats.errors import UnencodableError
from savepoint_spark.changing.stored_rows import stored_chunks
from state_processor import MigrationError, OperatorTransformation, Savepoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FLINKX = Path("scala/flinkx-2.2.1-rocksdb-native/savepoint")
UNITS = ("visited", "checked", "paid", "seen")
"""States of ``Unit``, ``Option[Unit]``, ``Either[String, Unit]`` and ``MapState[Long, Unit]``."""
SAME_TEXTS = "transform_values({}, (key, value) -> '()')"
KRYO = ("shape-kryo", "big-decimal", "big-int", "try-ok")
ENUMERATIONS = ("enumeration", "with-color")


def entries(savepoint: Savepoint, uid: str, state: str) -> dict[bytes, Any]:
    """Key -> the key group and the value, as bytes."""
    stored = {}
    for chunk in stored_chunks(savepoint.operator(uid), state):
        columns = chunk.key_groups.tolist(), chunk.entries.keys, chunk.entries.values
        for group, key, value in zip(*columns, strict=True):
            stored[key.as_py()] = group, value.as_py()
    return stored


def test_flinkx_gets_the_bytes_that_a_job_with_it_wrote(
    spark: SparkSession, corpus: Path, tmp_path: Path
) -> None:
    old = old_savepoint(spark, corpus, (*KRYO, *ENUMERATIONS))
    old.migrate("2.2", scala="flinkx").write(str(tmp_path / "new"))
    new = Savepoint.open(str(tmp_path / "new"))
    own = Savepoint.open(str(corpus / "scala/flinkx-2.2.1-hashmap-canonical/savepoint"))
    compared = 0
    for uid in UIDS:
        mine, theirs = (
            {state.name: state for state in savepoint.operator(uid).catalog.states}
            for savepoint in (new, own)
        )
        for state in mine.keys() & theirs.keys() - UNORDERED.keys():
            assert mine[state].stored == theirs[state].stored, (uid, state)
            written, wanted = entries(new, uid, state), entries(own, uid, state)
            if state == "opts":  # that of Flink 1 could not hold the null of this key
                null = b"\x07key-07\x00"
                assert written.pop(null) != wanted.pop(null)
            assert written == wanted, (uid, state)
            compared += len(written)
    assert compared > 500
    _, _, rows = stored_states(new, "by-int")["colls"]
    _, _, own_rows = stored_states(own, "by-int")["colls"]
    values = {row["key"]: without_order("colls", row["value"]) for row in rows}
    assert values == {row["key"]: without_order("colls", row["value"]) for row in own_rows}


def test_what_the_target_does_not_have_is_named_with_the_way_out(
    spark: SparkSession, corpus: Path
) -> None:
    old = old_savepoint(spark, corpus, ())
    with pytest.raises(MigrationError) as caught:
        old.migrate("2.2", scala="flinkx")
    text = str(caught.value)
    assert "state 'enumeration': sc.Color$ is an Enumeration" in text
    assert "state 'try-ok': flink-scala-api has no serializer of Try" in text
    with pytest.raises(MigrationError, match="savepoint migrate --scala"):
        old.migrate("2.2")
    with pytest.raises(MigrationError, match="'list-opt': a list state of options"):
        old.migrate("2.2", scala="row")
    with pytest.raises(
        MigrationError, match=r"sc\.Address has 2 fields without names: describe it"
    ):
        old.migrate("2.2", scala="pojo")
    with pytest.raises(
        ValueError, match="no API 'scala' for state of Scala, only flinkx, pojo, row"
    ):
        old.migrate("2.2", scala="scala")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "uid", "values"),
    [
        (SAMPLE, "by_region", {"visited": "'()'", "seen": SAME_TEXTS.format("seen")}),
        (
            FLINKX,
            "by-string",
            {
                "unit": "'()'",
                "case-object": "'sc.NoShape$'",
                "map-unit": SAME_TEXTS.format("`map-unit`"),
            },
        ),
    ],
)
def test_unit_and_case_objects_are_written_back_byte_for_byte(
    spark: SparkSession, corpus: Path, tmp_path: Path, path: Path, uid: str, values: dict[str, str]
) -> None:
    is_sample = path == SAMPLE
    uids = ("by_region", "by_customer") if is_sample else UIDS
    states = UNITS if is_sample else (*values, "with-unit")
    old = Savepoint.load(spark, str(corpus / path), uids=uids).with_forms(nanoseconds="struct")
    rows = old.read_keyed_state(uid).select("key", *(f"`{state}`" for state in states))
    like = OperatorTransformation.bootstrap_with(rows).like(old.operator(uid))
    changed = old.writer()
    for state, value in values.items():
        changed = changed.update_state(uid, state, value)
    Savepoint.create(spark).with_operator(uid, like).write(str(tmp_path / "like"))
    changed.write(str(tmp_path / "changed"))
    for name, own_uids in {"like": (uid,), "changed": uids}.items():
        new = Savepoint.open(str(tmp_path / name), uids=own_uids)
        for state in states:
            wanted = entries(old, uid, state)
            if (name, state) == ("like", "checked"):  # a value of null is no value in a new state
                wanted = {key: value for key, value in wanted.items() if value[1] != b"\0"}
            assert wanted
            assert entries(new, uid, state) == wanted, (name, state)
    wrong = old.writer().update_state(uid, next(iter(values)), "'(1)'")
    with pytest.raises(UnencodableError, match=r"'\(1\)' where only '\(\)' can be"):
        wrong.write(str(tmp_path / "wrong"))
