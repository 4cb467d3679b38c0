"""Changes in any order, made at once, give what they give one after the other; without Spark."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pytest
from support.masks import SECRET
from support.nightly import nightly
from support.object_classes import CARD, CLASSES
from support.object_samples import opened as opened_objects
from support.one_after_another import of_operator
from support.sample_rows import Sample
from support.slow_cases import slow_unless
from support.written_in_process import written

from savepoint_extensions.lifecycle.times_to_live import SameKeys
from savepoint_formats.entries import StoredEntries
from savepoint_spark.changing import Change, Part, StageRule, stored_chunks
from savepoint_spark.changing.changed_operator import ChangedOperator
from state_processor import MaskRules, Savepoint
from state_processor.savepoint.planned_operator import PlannedOperator
from state_processor.savepoint.writer import SavepointWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.hashing import HashKeys
    from savepoint_formats.state_files import StateChunk

    Verb = Callable[[SavepointWriter, str], SavepointWriter]

TEXTS = "rules: [{type: text, method: hash}]"
NUMBERS = "rules: [{type: integer, method: hash}]"


def _renamed(old: str, new: str) -> Verb:
    return lambda writer, uid: writer.rename_class(old, new, uid=uid)


CHANGES: dict[str, Verb] = {
    "mask texts": lambda writer, _: writer.masked(MaskRules.of_text(TEXTS)),
    "mask numbers": lambda writer, _: writer.masked(MaskRules.of_text(NUMBERS)),
    "sample": lambda writer, _: writer.sample(0.7),
    "sample more": lambda writer, _: writer.sample(0.9),
    "rescale": lambda writer, _: writer.rescale(max_parallelism=60, parallelism=3),
    "rename state": lambda writer, uid: writer.rename_state(uid, "by_currency", "per_currency"),
    "remove state": lambda writer, uid: writer.remove_state(uid, "average"),
    "rename class": _renamed("shop.Customer", "shop.Client"),
    "rename constant": lambda writer, uid: writer.rename_constant(
        "shop.TransactionKind", "REFUND", "MONEY_BACK", uid=uid
    ),
    "rename field": lambda writer, uid: writer.rename_field(uid, "customer", "adult", "adulthood"),
}
OF_OBJECTS: dict[str, Verb] = {
    **{name: CHANGES[name] for name in ("mask texts", "sample", "rescale")},
    "rename class": _renamed("shop.CardPayment", "shop.Plastic"),
    "rename other class": _renamed("shop.Payment", "shop.Paid"),
    "rename state": lambda writer, uid: writer.rename_state(uid, "memo", "remark"),
    "migrate": lambda writer, _: writer.migrate("2.2"),
    "set ttl": lambda writer, uid: writer.set_ttl(
        uid, "id", on=True, at=datetime(2027, 1, 1, tzinfo=UTC)
    ),
}
VARIANTS = (
    "states-2.2.1-hashmap-canonical",
    "states-2.2.1-rocksdb-heaptimers",
    "states-1.20.5-hashmap-changelog",
    "states-1.20.5-hashmap-native",
)


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAVEPOINT_MASK_SECRET", SECRET)


def _writer(operator: Operator, source: Savepoint) -> SavepointWriter:
    record = operator.record
    sizes = record.parallelism, record.max_parallelism
    return SavepointWriter(None, source, (PlannedOperator.copy_of(operator),), *sizes)


def _made(writer: SavepointWriter) -> Operator:
    (planned,) = writer.operators
    change = planned.with_hash_codes().change
    assert isinstance(change, ChangedOperator)
    return written(change, planned.parallelism, planned.max_parallelism)


def _compared(source: Savepoint, uid: str, names: Sequence[str], changes: dict[str, Verb]) -> None:
    operator = source.operator(uid)
    at_once = _writer(operator, source)
    for name in names:
        at_once = changes[name](at_once, uid)
        operator = _made(changes[name](_writer(operator, source), uid))
    made: Any = of_operator(_made(at_once))
    assert made == of_operator(operator), names


def _orders(seed: str, count: int, names: Sequence[str]) -> list[list[str]]:
    chance = random.Random(seed)
    return [chance.sample(names, chance.randint(3, 6)) for _ in range(count)]


@pytest.mark.parametrize("variant", slow_unless(VARIANTS[0].__eq__, VARIANTS))
def test_changes_of_entries_in_any_order(variant: str) -> None:
    source = Sample(variant).open()
    for names in _orders(variant, 1, list(CHANGES)):
        _compared(source, "stateful", names, CHANGES)
    _compared(source, "buffer", ["mask texts", "rescale", "mask numbers"], CHANGES)


@pytest.mark.parametrize("variant", ["objects-1.20.5-rocksdb-canonical"])
def test_changes_of_objects_in_any_order(variant: str) -> None:
    source = opened_objects(variant, (*CLASSES, CARD))
    named = ["rename class", "set ttl", "rename other class", "migrate"]
    for names in (*_orders(variant, 2, list(OF_OBJECTS)), named):
        _compared(source, "payments", names, OF_OBJECTS)


@dataclass(frozen=True)
class Louder(Change):
    """Gives the texts of the state ``name`` capital letters; nothing in the product knows it."""

    name: str
    does: ClassVar = frozenset({Part.ENTRIES, Part.SEALED})

    @property
    def touched(self) -> frozenset[str]:
        return frozenset({self.name})

    def entries(self, hash_keys: HashKeys | None) -> Any:  # of other changes
        return _Capitals(kryo=None, name=self.name)


@dataclass(frozen=True)
class _Capitals(SameKeys):
    """A text begins with its length, then has a byte for each letter of ASCII."""

    name: str = ""

    def entries(self, state_chunk: StateChunk) -> StoredEntries:
        entries = state_chunk.entries
        if state_chunk.state.name != self.name:
            return entries
        loud = [value[:1] + value[1:].upper() for value in entries.values.to_pylist()]
        return StoredEntries(entries.keys, pa.array(loud, pa.large_binary()))


def test_a_change_that_nobody_knows_composes_with_others() -> None:
    def louder(name: str) -> Verb:
        rule = StageRule.SEALED
        return lambda writer, uid: writer.ready_for(rule, uid).changed(
            uid, lambda operator: operator.with_change(Louder(name))
        )

    source = opened_objects("objects-1.20.5-rocksdb-canonical", (*CLASSES, CARD))
    changes = {**OF_OBJECTS, "louder": louder("memo"), "louder later": louder("remark")}
    for names in (
        ["rename class", "louder", "rename state", "sample"],
        ["sample", "rename state", "mask texts", "louder later", "rescale"],
        ["louder", "migrate", "set ttl"],
    ):
        _compared(source, "payments", names, changes)
    loud = _made(changes["louder"](_writer(source.operator("payments"), source), "payments"))
    texts = [b"".join(it.entries.values.to_pylist()) for it in stored_chunks(loud, "memo")]
    assert any(texts)
    assert all(text == text.upper() for text in texts)
    twice = ChangedOperator(source.operator("payments")).with_change(Louder("memo"))
    with pytest.raises(ValueError, match=r"2 changes of entries .* must see Part\.ENTRIES"):
        _ = twice.with_change(Louder("memo")).entries


@nightly
@pytest.mark.parametrize("variant", VARIANTS)
def test_many_orders(variant: str) -> None:
    source = Sample(variant).open()
    for names in _orders(f"many {variant}", 60, list(CHANGES)):
        _compared(source, "stateful", names, CHANGES)
