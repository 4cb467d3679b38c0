"""Drafts of rules for masks, by names of fields and by what their texts look like.

A field gets the first suggestion whose pattern fits most of its texts, or whose words are in its
name. Texts that fit none are reported, too, because only people know their contents.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from savepoint_extensions.privacy.field_walk import FieldWalk
from savepoint_extensions.privacy.mask_methods import FieldType
from savepoint_extensions.privacy.mask_plan import is_rest, mask_fields
from savepoint_extensions.privacy.masked_entries import walked_keys, walked_values
from savepoint_formats.pass_through import StoredStates, decoded
from savepoint_formats.printable import printable
from savepoint_formats.scan import operator_splits
from savepoint_formats.state_files import element_arrays, element_layout, entry_layouts, key_layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from savepoint_database.snapshot import Operator, Snapshot
    from savepoint_extensions.privacy.mask_rules import MaskField
    from savepoint_formats.state_files import State

    Look = tuple[Operator, State]
    Matches = Mapping[str, Counter[str]]
    """Field -> name of a kind, empty for all -> number of texts."""

    Run = Callable[[Callable[[Look], Matches], Sequence[Look]], Iterable[Matches]]


class Kind(NamedTuple):
    """Kind of text: words in names of its fields, the form of values, and the method."""

    name: str
    words: str
    pattern: str | None
    method: str


_KINDS = (
    Kind("e-mail", r"e_?mail", r"^[^@\s]+@[^@\s]+\.[^@\s]+$", "email"),
    Kind(
        "IP address",
        r"^ip$|ip_?addr|remote_?host",
        r"^(\d{1,3}\.){3}\d{1,3}$|^[0-9a-f]{0,4}(:[0-9a-f]{0,4}){3,7}$",
        "digits",
    ),
    Kind(
        "card or account",
        r"card|iban|account_?n|pan$",
        r"^([A-Z]{2}\d{2}[A-Z0-9 ]{10,30}|(\d[ -]?){12,18}\d)$",
        "digits",
    ),
    Kind("phone", r"phone|mobile|fax|msisdn", r"^\+?[\d() /.-]{7,20}$", "digits"),
    Kind(
        "name",
        r"name|surname|customer|person|user$|city|street|address",
        r"^\p{Lu}\p{L}+([ '-]\p{Lu}\p{L}+){1,3}$",
        "hash",
    ),
    Kind("free text", r"memo|note|comment|message|text|description", r"^\S+(\s+\S+){3,}$", "hash"),
)
"""In the order in which they are tried."""

_BIRTH = re.compile(r"birth|dob", re.IGNORECASE)
_MOST_OF = 0.5
_ONE_LINE = 1 << 30


@dataclass(frozen=True, slots=True)
class SuggestedField:
    """A field, and the facts that are known about it.

    Attributes:
        operator: The operator.
        state: The state; empty for keys and namespaces.
        field: The field.
        type: Its type.
        looks_like: What it seems to be: ``e-mail``, ``name``…; empty if nothing is known.
        method: The suggested method; ``keep`` for values that are not texts.
        values: The number of values that were looked at.
        matched: The number that fit the pattern.
    """

    operator: str
    state: str
    field: str
    type: str
    looks_like: str
    method: str
    values: int
    matched: int


@dataclass(frozen=True, slots=True)
class MaskSuggestions:
    """Suggested rules of a savepoint."""

    fields: tuple[SuggestedField, ...]

    @classmethod
    def of(cls, snapshot: Snapshot, limit: int, run: Run = map) -> Self:
        """See ``Savepoint.mask_suggestions``; ``run`` looks at the states."""
        operators = snapshot.operators()
        looks = [(operator, state) for operator in operators for state in operator.catalog.states]
        matches = iter(run(partial(_matches, limit), looks))
        suggested_fields = (
            suggested
            for operator in operators
            for suggested in _suggested(
                operator, [(state.name, next(matches)) for state in operator.catalog.states]
            )
        )
        return cls(tuple(suggested_fields))

    @property
    def unmatched(self) -> tuple[SuggestedField, ...]:
        """Texts that no pattern fits."""
        return tuple(
            known for known in self.fields if known.type == FieldType.TEXT and not known.looks_like
        )

    def to_yaml(self) -> str:
        """The rules as a file, with the counts in comments."""
        lines = ["# Check each rule: only names and forms of texts were looked at.", "rules:"]
        for known in self.fields:
            is_text = known.type == FieldType.TEXT
            what = known.looks_like or ("text of any kind" if is_text else known.type)
            matched = f", {known.matched:,} of this form" if known.matched else ""
            counts = f": {known.values:,} values{matched}" if is_text else ""
            lines.append(f"# {what}{counts}")
            names = {"operator": known.operator, "state": known.state, "field": known.field}
            rule = {name: _literal(text) for name, text in names.items() if text}
            text = _line({**rule, "method": known.method})
            # Keeping bytes that nobody can read must be a decision.
            lines.append(f"# - {text}" if known.type == FieldType.UNKNOWN else f"- {text}")
        return "\n".join(lines) + "\n"


def _line(rule: dict[str, str]) -> str:
    """A rule as YAML on one line: behind a line break, a name of the savepoint would be a rule."""
    is_plain = all(printable(text) == text for text in rule.values())
    return str(
        yaml.safe_dump(
            rule,
            default_flow_style=True,
            default_style=None if is_plain else '"',
            allow_unicode=is_plain,
            width=_ONE_LINE,
            sort_keys=False,
        )
    ).strip()


def _literal(text: str) -> str:
    """A glob that fits only this text."""
    return re.sub(r"([*?[])", r"[\1]", text)


def _suggested(
    operator: Operator, matches: Iterable[tuple[str, Matches]]
) -> Iterator[SuggestedField]:
    for place in mask_fields(operator):
        if is_rest(place.field) or place.is_own:
            continue
        counts = (
            of_state[place.field]
            for name, of_state in matches
            if place.field in of_state and name == (place.state or name)
        )
        yield _suggestion(place, sum(counts, Counter[str]()))


def _suggestion(place: MaskField, counts: Counter[str]) -> SuggestedField:
    method, kind, matched = "keep", "", 0
    values = counts[""]
    if place.type is FieldType.TEXT:
        method = "hash"
        for known in _KINDS:
            is_named = re.search(known.words, place.name, re.IGNORECASE) is not None
            if is_named or (values and counts[known.name] > values * _MOST_OF):
                method, kind, matched = known.method, known.name, counts[known.name]
                break
    elif place.type is FieldType.TIME and _BIRTH.search(place.name):
        method, kind = "shift", "date of birth"
    return SuggestedField(
        place.operator,
        place.job_state,
        place.field,
        place.type.value,
        kind,
        method,
        values,
        matched,
    )


def _matches(limit: int, look: Look) -> Matches:
    """The forms of texts in a state, by field."""
    matches: dict[str, Counter[str]] = {}
    operator, state = look

    def leaf(name: str, values: pa.Array) -> pa.Array:
        if pa.types.is_string(values.type):
            counts = matches.setdefault(name, Counter())
            counts[""] += len(values) - values.null_count
            for kind in _KINDS:
                if kind.pattern:
                    fits = pc.sum(pc.match_substring_regex(values, kind.pattern)).as_py()
                    counts[kind.name] += fits or 0
        return values

    walk = FieldWalk(leaf)
    for keys, values in _columns(operator, state, limit):
        if keys is not None:
            walked_keys(keys, walk)
        if values is not None:
            walked_values(state, values, walk)
    return matches


def _columns(
    operator: Operator, state: State, limit: int
) -> Iterator[tuple[pa.Array | None, pa.Array | None]]:
    """Decoded keys and values of the first entries of a state."""
    opened, count = state.with_open_pojos(), 0
    if state.kind.is_raw:
        return
    if not state.kind.is_keyed:
        layout = element_layout(opened)
        for split in operator_splits(operator.record):
            for data in element_arrays(operator.directory, split.handle, state.name):
                yield None, decoded(data, layout, operator.kryo)
        return
    key, value = entry_layouts(opened)
    stored = StoredStates(operator.directory, operator.record, key_layout(state), operator.kryo)
    for state_chunk in stored.state_chunks(frozenset([state.name])):
        values = (
            None if value is None else decoded(state_chunk.entries.values, value, operator.kryo)
        )
        yield decoded(state_chunk.entries.keys, key, operator.kryo), values
        count += len(state_chunk.entries)
        if count >= limit:
            return
