from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from support.any_kryo import ROOT, written_graph
from support.counted_calls import calls_in
from support.masks import SECRET, hashed
from support.sample_rows import Sample

from savepoint_extensions.privacy.mask_methods import METHODS
from savepoint_extensions.privacy.mask_plan import MaskPlan
from savepoint_extensions.privacy.mask_rules import MaskRules, Rule
from savepoint_extensions.privacy.masked_entries import MaskedOperator, Tally
from savepoint_formats.entries import StoredEntries
from savepoint_formats.errors import MaskError, UnencodableError
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.layout import Kryo, Text
from savepoint_formats.pass_through.divided_entries import decoded_keys
from savepoint_formats.pass_through.recoded_entries import decoded
from savepoint_formats.pass_through.stored_states import StoredStates
from savepoint_formats.state_files import State, StateKind
from savepoint_formats.state_files.state import entry_layouts, key_layout
from savepoint_formats.state_files.state_chunk import StateChunk
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo.objects import KryoNode, KryoObject
from savepoint_spark.changing.stored_rows import stored_chunks
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_extensions.privacy.masked_entries import Tallies


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAVEPOINT_MASK_SECRET", SECRET)


def chunks_in(name: str, uid: str, rules: str) -> tuple[MaskedOperator, list[StateChunk], int]:
    operator = Sample(name).open().operator(uid)
    masked = MaskPlan.of(operator, MaskRules.of_text(rules)).masked()
    assert masked is not None
    keyed = [state for state in operator.catalog.states if state.kind.is_keyed]
    count = operator.record.max_parallelism
    stored = StoredStates(operator.directory, operator.record, key_layout(keyed[0]), operator.kryo)
    names = frozenset(state.name for state in keyed)
    pieces = list(stored.state_chunks(names, KeyGroupRange(0, count - 1)))
    return masked, [piece for piece in pieces if len(piece.entries)], count


@pytest.mark.parametrize(
    "name", ["states-1.20.5-hashmap-native", "states-2.2.1-rocksdb-incremental"]
)
def test_keys_are_masked_in_all_states_and_timers(name: str) -> None:
    masked, pieces, count = chunks_in(name, "stateful", "rules: [{field: key, method: hash}]")
    assert masked.moves_keys
    moved = 0
    for piece in pieces:
        tallies: Tallies = {}
        new = replace(piece, entries=masked.tallied(piece, tallies))
        old_keys = decoded_keys(piece, masked.kryo).to_pylist()
        assert decoded_keys(new, masked.kryo).to_pylist() == list(map(hashed, old_keys))
        assert new.entries.values.equals(piece.entries.values)
        assert tallies[piece.state.name, "key"].changed == len(old_keys)
        groups = masked.key_groups(piece, new.entries, count)
        moved += int(np.count_nonzero(groups != piece.key_groups))
    assert moved > sum(len(piece.entries) for piece in pieces) / 2


SQL = "stream-exec-group-aggregate_1/group-aggregate-simple"


def test_columns_of_a_query_are_masked_by_their_names(corpus: Path) -> None:
    plan = corpus / "sql-plans" / f"{SQL}.json"
    opened = Savepoint.open(corpus / "sql" / SQL, plan=plan)
    operator = opened.operator("4_group-aggregate")
    rules = MaskRules.of_text(
        "rules: [{field: key.b, method: hash}, {field: value.min_c, method: hash}]"
    )
    masked = MaskPlan.of(operator, rules).masked()
    assert masked is not None
    texts = set[str]()
    for piece in stored_chunks(operator, "accState"):
        tallies: Tallies = {}
        new = masked.tallied(piece, tallies)
        assert {field: tally.changed for (_, field), tally in tallies.items()} == {
            **dict.fromkeys(("key.b", "value.min_c"), len(piece.entries)),
        }
        _, layout = entry_layouts(piece.state)
        assert layout is not None
        assert not any(b"H" in value for value in new.values.to_pylist())
        values = decoded(new.values, layout, operator.kryo).to_pylist()
        texts.update(value["f3"] for value in values)
    assert texts == {hashed("Hi"), hashed("Hello")}


def test_states_without_a_rule_pass_through() -> None:
    rules = "rules: [{state: memos, method: hash}]"
    masked, pieces, _ = chunks_in("states-2.2.1-hashmap-canonical", "stateful", rules)
    assert not masked.moves_keys
    for piece in pieces:
        new = masked.entries(piece)
        if piece.state.name != "memos":
            assert new is piece.entries
        else:
            assert new.keys.equals(piece.entries.keys)
            layout = entry_layouts(piece.state)[1]
            assert layout is not None
            old, now = (
                decoded(data, layout, masked.kryo) for data in (piece.entries.values, new.values)
            )
            assert now.to_pylist() == [list(map(hashed, memos)) for memos in old.to_pylist()]


def test_a_mask_that_is_no_value_of_its_type_is_refused() -> None:
    rules = "rules: [{state: last_kind, method: fixed, value: SHRED}]"
    masked, pieces, _ = chunks_in("states-2.2.1-hashmap-canonical", "stateful", rules)
    piece = next(piece for piece in pieces if piece.state.name == "last_kind")
    with pytest.raises(UnencodableError, match=r"last_kind.*stateful"):
        masked.entries(piece)


def test_elements_of_operator_state_are_masked() -> None:
    operator = Sample("states-2.2.1-hashmap-canonical").open().operator("buffer")
    rules = MaskRules.of_text("rules: [{type: text, method: hash}]")
    masked = MaskPlan.of(operator, rules).masked()
    assert masked is not None
    assert set(masked.rules) == {"elements", "offsets"}


def test_a_field_that_the_stored_values_lack_is_an_error() -> None:
    rules = "rules: [{field: [key, value.name], method: hash}]"
    masked, pieces, _ = chunks_in("states-2.2.1-hashmap-canonical", "stateful", rules)
    piece = next(piece for piece in pieces if piece.state.name == "customer")
    for old, new in (("value.name", "value.surname"), ("key", "key.b")):
        fields = {new if it == old else it: rule for it, rule in masked.rules["customer"].items()}
        other = replace(masked, rules={"customer": fields})
        with pytest.raises(MaskError, match=f"'{new}' is not in the stored values.*remove-state"):
            other.entries(piece)


@pytest.mark.parametrize("name", ["states-2.2.1-hashmap-canonical", "states-1.20.5-rocksdb-native"])
def test_a_count_of_masks_is_that_of_all_masks(name: str) -> None:
    masked, pieces, _ = chunks_in(name, "stateful", "rules: [{type: text, method: hash}]")
    whole: Tallies = {}
    counted: Tallies = {}
    for piece in pieces:
        assert masked.tallied(piece, whole).keys.equals(masked.counted(piece, counted).keys)
    assert counted == whole


def test_a_count_of_masks_makes_no_digest_of_a_value() -> None:
    rules = "rules: [{state: memos, method: hash}, {field: value.name, method: hash}]"
    masked, pieces, _ = chunks_in("states-2.2.1-hashmap-canonical", "stateful", rules)
    pieces = [piece for piece in pieces if piece.state.name in masked.rules]
    assert {piece.state.name for piece in pieces} == {"memos", "customer"}
    for act, has_digests in ((masked.tallied, True), (masked.counted, False)):
        for piece in pieces:
            calls = calls_in(partial(act, piece, {}))
            assert bool(calls["permutation._finished"]) is has_digests


def test_a_count_masks_a_text_that_may_be_its_own_hash() -> None:
    masked, _, _ = chunks_in(
        "states-2.2.1-hashmap-canonical", "stateful", "rules: [{type: text, method: hash}]"
    )
    rule = next(iter(masked.rules["memos"].values()))
    forms = METHODS["hash"].forms
    assert forms is not None
    texts = [hashed("Hello"), f"{hashed('Hello')}\n", "A" * 20, "customer-00000000001", "", None]
    known = forms(pa.array(texts), rule)
    assert known is not None
    assert known.may_stay.to_pylist() == [True, False, False, False, False, None]
    assert [len(text) for text in known.values.to_pylist()] == [20] * len(texts)
    assert forms(pa.array([b"bytes"]), rule) is None
    assert forms(pa.array(["1"]), replace(rule, numbers=True)) is None


@pytest.mark.parametrize("version", KryoVersion)
def test_a_count_takes_what_a_mask_takes_of_a_set_of_kryo(version: KryoVersion) -> None:
    described = kryo_class(ROOT, {"names": "java.util.Set<java.lang.String>"})
    dialect, layout = KryoDialect(version, (described,)), Kryo(ROOT, (), (described,))
    state = State("s", StateKind.VALUE, layout, Text())
    names = [KryoNode("java.lang.String", name) for name in ("Hi", "Hello")]
    fields = {"names": KryoNode("java.util.HashSet", names)}
    node = KryoNode(ROOT, KryoObject(ROOT, fields))
    values = pa.array([written_graph(layout, node, dialect)], pa.large_binary())
    entries = StoredEntries(pa.array([b"key"], pa.large_binary()), values)
    piece = StateChunk(state, entries, np.zeros(1, np.uint16))
    rule = Rule("hash", "value.names", secret=SECRET.encode())
    masked = MaskedOperator("a", dialect, {"s": {"value.names": rule}})
    whole: Tallies = {}
    counted: Tallies = {}
    (row,) = decoded(masked.tallied(piece, whole).values, layout, dialect).to_pylist()
    assert sorted(row["names"]) == sorted(map(hashed, ("Hi", "Hello")))
    masked.counted(piece, counted)
    assert counted == whole == {("s", "value.names"): Tally(values=2, changed=2)}
