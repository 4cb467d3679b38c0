"""Masks of an operator: rewrites entries of keyed state and elements of operator state.

Keys, namespaces and keys of maps are parts of an entry's key. Like values, they are decoded to
columns, masked and encoded; the rest of the state is copied as bytes. New keys have new key groups.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_extensions.privacy.field_walk import FieldWalk
from savepoint_extensions.privacy.mask_methods import METHODS
from savepoint_formats.entries import StoredEntries
from savepoint_formats.errors import MaskError, within
from savepoint_formats.layout import Coded, Kryo, holds_kryo, nodes_of, with_open_pojos
from savepoint_formats.pass_through import NewKeyGroups, decoded
from savepoint_formats.program.encode import Encoder
from savepoint_formats.program.recoded_columns import written_layout
from savepoint_formats.state_files import StateKind, element_layout, entry_layouts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from savepoint_extensions.privacy.mask_methods import Forms
    from savepoint_extensions.privacy.mask_rules import Rule
    from savepoint_formats.hashing import HashKeys
    from savepoint_formats.layout import Layout
    from savepoint_formats.pass_through import KeyGroups
    from savepoint_formats.state_files import State, StateChunk, StateNames
    from savepoint_formats.values import KryoDialect

KEY_FIELDS = {"key": "key", "namespace": "namespace", "user_key": "map_key"}
"""Part of an entry's key -> the name of its field."""

VALUE = "value"


@dataclass(slots=True)
class Tally:
    """Counts of a field: values that are not null, changed values, and values that did not fit."""

    values: int = 0
    changed: int = 0
    unmatched: int = 0


Tallies = dict[tuple[str, str], Tally]
"""State and field -> its counts."""


@dataclass(frozen=True)
class MaskedOperator:
    """The rules of an operator's fields; small, and can be pickled.

    Attributes:
        name: The operator.
        kryo: The Kryo of its savepoint.
        rules: State -> field -> its rule. Fields without a rule, or that a rule keeps, are left out.
        watched: State -> its fields that may have bytes that can't be decoded.
        hash_keys: Hash codes of keys that their type doesn't tell.
        names: Names of fields that only the plan of a query tells, and that rules have.
    """

    name: str
    kryo: KryoDialect
    rules: Mapping[str, Mapping[str, Rule]]
    watched: Mapping[str, frozenset[str]] = field(default_factory=dict)
    hash_keys: HashKeys | None = None
    names: StateNames | None = None

    @property
    def moves_keys(self) -> bool:
        """Whether keys change, and with them their key groups."""
        return any(_root(name) == "key" for fields in self.rules.values() for name in fields)

    def with_hash_keys(self, hash_keys: HashKeys | None) -> MaskedOperator:
        """The same masks, with hash codes of keys whose type doesn't tell them."""
        return replace(self, hash_keys=hash_keys)

    def entries(self, state_chunk: StateChunk) -> StoredEntries:
        """The entries with masked keys and values; raises what ``tallied`` raises."""
        return self.tallied(state_chunk, {})

    def key_groups(self, state_chunk: StateChunk, new: StoredEntries, count: int) -> KeyGroups:
        """The key group of each new entry; ``UnstableHashError`` if hash codes are unknown."""
        groups = NewKeyGroups(count, count, self.kryo, self.hash_keys)
        return groups.expected(replace(state_chunk, entries=new))

    def tallied(self, state_chunk: StateChunk, tallies: Tallies) -> StoredEntries:
        """The masked entries, counted.

        Raises:
            MaskError: Keys of a map become equal, a value can't be written as it was, or a field of
                the plan is not in the values.
            UnencodableError: A masked value doesn't fit its type.
            UndecodableError: A value can't be read.
        """
        return self._masked(state_chunk, tallies, counts_values=False)

    def counted(self, state_chunk: StateChunk, tallies: Tallies) -> StoredEntries:
        """The entries with masked keys, and values like the masked ones, counted; raises the same.

        Digests take most of the time of a mask, and few are needed to count. Values that Kryo
        or a plug-in writes are masked, too: a set of Kryo refuses equal elements.
        """
        return self._masked(state_chunk, tallies, counts_values=True)

    def _masked(
        self, state_chunk: StateChunk, tallies: Tallies, *, counts_values: bool
    ) -> StoredEntries:
        state, entries = state_chunk.state.with_names(self.names), state_chunk.entries
        rules = self.rules.get(state.name)
        if rules is None:
            return entries
        key_layout, value_layout = entry_layouts(state.with_open_pojos())
        has_forms = not any(nodes_of(value_layout, Kryo, Coded))
        masking = _Masking(self, state, rules, tallies, counts_values and has_forms)
        keys, values = entries.keys, entries.values
        with within(f"state {state.name!r}", f"operator {self.name}"):
            if any(_root(name) in KEY_FIELDS.values() for name in rules):
                keys = masking.anew(keys, key_layout, walked_keys)
            if value_layout is not None and any(_root(name) == VALUE for name in rules):
                values = masking.anew(values, value_layout, partial(walked_values, state))
            masking.expect_all_met()
        return StoredEntries(keys, values)

    def elements(
        self, data: pa.LargeBinaryArray, state: State, tallies: Tallies | None = None
    ) -> pa.LargeBinaryArray:
        """The masked elements of an operator state; raises what ``tallied`` raises."""
        counted: Tallies = {} if tallies is None else tallies
        masking = _Masking(self, state, self.rules[state.name], counted)
        layout = with_open_pojos(element_layout(state))
        with within(f"state {state.name!r}", f"operator {self.name}"):
            masked = masking.anew(data, layout, partial(walked_values, state))
            masking.expect_all_met()
        return masked


def walked_keys(column: pa.StructArray, walk: FieldWalk) -> pa.StructArray:
    """Walks the keys of entries: prefix or time, key, namespace, and key of a map."""
    fields = list(column.type)
    columns = [
        walk.values(part, KEY_FIELDS[part_of.name]) if part_of.name in KEY_FIELDS else part
        for part_of, part in zip(fields, column.flatten(), strict=True)
    ]
    return pa.StructArray.from_arrays(columns, fields=fields)


def walked_values(state: State, column: pa.Array, walk: FieldWalk) -> pa.Array:
    """Walks the values of a keyed state, or the elements of another one."""
    if state.kind is StateKind.BROADCAST and pa.types.is_map(column.type):
        return walk.entries(column, "map_key", VALUE)
    return walk.values(column, VALUE, is_timed=state.kind.is_keyed and state.has_ttl)


def _root(name: str) -> str:
    return name.partition(".")[0]


@dataclass(frozen=True)
class _Masking:
    """The masks of one state."""

    operator: MaskedOperator
    state: State
    rules: Mapping[str, Rule]
    tallies: Tallies
    counts_values: bool = False

    @property
    def walk(self) -> FieldWalk:
        watched = self.operator.watched.get(self.state.name, frozenset())
        return FieldWalk(self._leaf, frozenset(self.rules) | watched)

    def anew(
        self,
        data: pa.LargeBinaryArray,
        layout: Layout,
        walked: Callable[[pa.Array, FieldWalk], pa.Array],
    ) -> pa.LargeBinaryArray:
        """The bytes of the changed values."""
        kryo = self.operator.kryo
        column, encoder = decoded(data, layout, kryo), Encoder(written_layout(layout, kryo))
        if holds_kryo(layout) and not encoder.encode(column).equals(data):
            raise MaskError(
                "a value holds objects that can't be written as they were: describe their classes by"
                " --classes, or leave the state out with remove-state"
            )
        return encoder.encode(walked(column, self.walk))

    def expect_all_met(self) -> None:
        """Raises ``MaskError`` for a field of the plan that stored values don't have: it would stay."""
        unmet = [name for name in self.rules if (self.state.name, name) not in self.tallies]
        if unmet:
            raise MaskError(
                f"{self.rules[unmet[0]]}: field {unmet[0]!r} is not in the stored values, so it would"
                " stay as it is: report this fault of the tool, and leave the state out with"
                " remove-state"
            )

    def _leaf(self, name: str, values: pa.Array) -> pa.Array:
        tally = self.tallies.setdefault((self.state.name, name), Tally())
        count = len(values) - values.null_count
        tally.values += count
        rule = self.rules.get(name)
        mask = None if rule is None else METHODS[rule.method].mask
        if rule is None or mask is None or not count:
            return values
        forms = self._forms(name, values, rule)
        if forms is not None:
            rest = values.filter(forms.may_stay)
            tally.changed += count - (_same(rest, mask(rest, rule).values) if len(rest) else 0)
            return pc.if_else(values.is_valid(), forms.values, pa.scalar(None, values.type))
        present = values if not values.null_count else values.filter(values.is_valid())
        distinct, places = _distinct(present)
        masked = mask(distinct, rule)
        new = masked.values.take(places)
        tally.changed += count - _same(present, new)
        if masked.unmatched is not None:
            tally.unmatched += pc.sum(masked.unmatched.take(places)).as_py() or 0
        if not values.null_count:
            return new
        numbers = pc.subtract(pc.cumulative_sum(values.is_valid().cast(pa.int64())), 1)
        return new.take(pc.if_else(values.is_valid(), numbers, pa.scalar(None, pa.int64())))

    def _forms(self, name: str, values: pa.Array, rule: Rule) -> Forms | None:
        """The forms of masked values, if only they are needed; keys of maps must differ."""
        forms = METHODS[rule.method].forms
        root, *fields = name.split(".")
        is_counted = self.counts_values and root == VALUE and "key" not in fields
        return forms(values, rule) if forms is not None and is_counted else None


def _distinct(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Each value once, and the place of each value among them."""
    if pa.types.is_nested(values.type):  # precise times
        return values, pa.array(range(len(values)), pa.int64())
    encoded = values.dictionary_encode()
    return encoded.dictionary, encoded.indices


def _same(old: pa.Array, new: pa.Array) -> int:
    """The number of values that have not changed."""
    if pa.types.is_nested(old.type):
        parts = zip(old.flatten(), new.flatten(), strict=True)
        first, second = (pc.equal(before, after) for before, after in parts)
        return pc.sum(pc.fill_null(pc.and_(first, second), fill_value=False)).as_py() or 0
    return pc.sum(pc.fill_null(pc.equal(old, new), fill_value=False)).as_py() or 0
