"""The rules of compatibility predict what becomes of Flink 1's state in Flink 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.flink_restore import (
    RELEASES,
    FlinkRestore,
    KeyedState,
    Operator,
    Restored,
    RestoreError,
)
from support.object_classes import CARD
from support.object_samples import opened

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

FLINK_1, FLINK_2 = RELEASES
COUNT = 50
# Of these keys Kryo 2 and Kryo 5 write all bytes alike, but those of a float in another order.
KEYS = Operator("keys", key="GENERIC<hashed.Keys$Auto>").finding(COUNT)


def last(name: str) -> Operator:
    """An operator of the job of objects, with the state that keeps one."""
    state = KeyedState.value(name, f"POJO<shop.{name.capitalize()}>")
    return Operator(f"{name}s", key="LONG", states=(state,))


def verdicts_of(savepoint: Savepoint) -> dict[str, str]:
    return {one.operator: one.verdict for one in savepoint.compatibility("2.2").operators}


def test_state_of_kryo_is_restored_wrong_and_nobody_is_told(
    flink_restore: FlinkRestore, tmp_path: Path
) -> None:
    def run(savepoint: str | None, flink: str) -> Restored:
        return flink_restore(
            savepoint,
            KEYS,
            flink=flink,
            awaits=COUNT,
            resave=tmp_path / f"of-{flink}",
            config={"pipeline.max-parallelism": "128"},
        )

    written = run(None, FLINK_1)
    assert written.savepoint is not None
    judged = Savepoint.open(written.savepoint, uids=["keys"]).compatibility("2.2")
    assert judged.verdict == "silent corruption"
    (state,) = (one for one in judged.states() if one.state == "number")
    assert [one.where for one in state.findings] == ["key: hashed.Keys$Auto"]

    known, lost = (run(written.savepoint, flink).found("keys") for flink in RELEASES)
    assert known == {number: number for number in range(COUNT)}
    found = [number for number, kept in lost.items() if kept is not None]
    assert len(found) < COUNT // 2


def test_what_is_restorable_is_restored_and_collections_are_not(
    flink_restore: FlinkRestore,
) -> None:
    name = "objects-1.20.5-hashmap-canonical"
    # Of a subclass of payments nobody but its description tells what it has.
    assert verdicts_of(opened(name))["payments"] == "unknown"
    savepoint = opened(name, [CARD])
    verdicts = verdicts_of(savepoint)
    assert verdicts["payments"] == "restorable"
    before, after = (
        flink_restore(savepoint.path, last("payment"), flink=flink).keyed_state("payments")
        for flink in RELEASES
    )
    assert len(after) == 40
    assert after == before
    for name in ("crate", "basket"):
        assert verdicts[f"{name}s"] == "silent corruption"
        with pytest.raises(RestoreError):
            flink_restore(savepoint.path, last(name), flink=FLINK_2)


def test_lists_that_kryo_writes_and_cannot_read_are_not_restored_by_the_release_that_wrote_them(
    flink_restore: FlinkRestore,
) -> None:
    savepoint = opened("objects-1.20.5-hashmap-canonical")
    judged = savepoint.compatibility("1.20")
    verdicts = {one.operator: one.verdict for one in judged.operators}
    assert (verdicts["baskets"], verdicts["payments"]) == ("not restorable", "restorable")
    with pytest.raises(RestoreError, match="UnsupportedOperationException"):
        flink_restore(savepoint.path, last("basket"), flink=FLINK_1)
