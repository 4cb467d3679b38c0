"""Rules for the fields of a savepoint, decided before a value is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from savepoint_extensions.privacy.field_walk import field_types
from savepoint_extensions.privacy.mask_methods import METHODS, FieldType
from savepoint_extensions.privacy.mask_rules import MaskField, rule_for
from savepoint_extensions.privacy.masked_entries import (
    KEY_FIELDS,
    VALUE,
    MaskedOperator,
)
from savepoint_extensions.privacy.own_states import (
    has_own_key,
    has_own_namespaces,
    has_windows_alone,
    is_own_field,
)
from savepoint_formats.errors import MaskError
from savepoint_formats.layout import MapOf
from savepoint_formats.program.assembly import program
from savepoint_formats.state_files import StateKind, element_layout, entry_layouts
from savepoint_formats.values import UNDECODED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.privacy.mask_rules import MaskRules, Rule
    from savepoint_extensions.privacy.masked_entries import Tallies
    from savepoint_formats.state_files import State
    from savepoint_formats.values import KryoDialect

IN_FLIGHT = "records in flight"
"""Name of the state of an unaligned checkpoint's channels."""

NO_RULE = "no rule"
OWN = "Flink's own"
"""Method of fields that no rule names, and that only Flink needs."""

NO_FIELD = "no field"
"""Method of a rule that decides no field: none fits it, or earlier rules decide all that do."""

_IN_NAMESPACES = (FieldType.TEXT, FieldType.BYTES, FieldType.UNKNOWN)
_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class MaskedField:
    """A field of a masked savepoint, or a rule that decides no field.

    Attributes:
        operator: The operator; empty for a rule.
        state: The state; empty for keys and namespaces, which all states of the operator share.
        field: The field; for a rule its place in its file.
        type: Its type; ``unknown`` for bytes that can't be decoded.
        method: Its method, or ``no rule``: unchanged; ``no field`` for a rule.
        values: The number of its values; None if they were not looked at.
        changed: The number of values that are different now.
        unmatched: The number of values that did not fit the method, and were hashed instead.
    """

    operator: str
    state: str
    field: str
    type: str
    method: str
    values: int | None = None
    changed: int | None = None
    unmatched: int | None = None


@dataclass(frozen=True)
class MaskPlan:
    """The rules of an operator's fields; a field without a rule has None.

    With ``is_strict``, bytes that can't be decoded are refused.
    """

    operator: Operator
    fields: tuple[tuple[MaskField, Rule | None], ...]
    is_strict: bool = False

    @classmethod
    def of(cls, operator: Operator, rules: MaskRules) -> MaskPlan:
        """The plan; ``MaskError`` if the method of a rule can't mask a field."""
        operator.expect_read()
        planned = tuple((place, rule_for(rules, place)) for place in mask_fields(operator))
        for place, rule in planned:
            is_key = place.field.partition(".")[0] != VALUE
            if rule is not None and rule.method == "null" and is_key:
                raise MaskError(f"{rule}: {place} is a key, which can't be null")
        return cls(operator, planned)

    def without(self, states: Collection[str]) -> MaskPlan:
        fields = tuple(pair for pair in self.fields if pair[0].state not in states)
        return replace(self, fields=fields)

    @property
    def unnamed(self) -> tuple[MaskField, ...]:
        """The fields without a rule that may hold personal data.

        Undescribed bytes are left out, because they may turn out not to be there.
        """
        return tuple(
            place
            for place, rule in self.fields
            if rule is None and not is_rest(place.field) and not place.is_own
        )

    def masked(self) -> MaskedOperator | None:
        """The masks of the operator; None if all fields stay."""
        rules: dict[str, dict[str, Rule]] = {}
        watched: dict[str, frozenset[str]] = {}
        shared: dict[str, Rule] = {}
        for place, rule in self.fields:
            if rule is not None and METHODS[rule.method].mask is not None:
                # Numbers of any size are texts in Arrow, and may be equal to a BIGINT elsewhere.
                numbers = rule.numbers or place.type is FieldType.DECIMAL
                of_state = rules.setdefault(place.state, {}) if place.state else shared
                of_state[place.field] = replace(rule, numbers=numbers)
        for state in self.operator.catalog.states:
            if state.kind.is_keyed and shared:
                mine = {
                    name: rule
                    for name, rule in shared.items()
                    if name in _shared_fields(state, _kryo(self.operator))
                }
                if mine:
                    rules.setdefault(state.name, {}).update(mine)
        for place, _ in self.fields:
            if place.type is FieldType.UNKNOWN and place.state in rules:
                watched[place.state] = watched.get(place.state, frozenset()) | {place.field}
        if not rules:
            return None
        kryo, names = _kryo(self.operator), self.operator.names
        return MaskedOperator(self.operator.name, kryo, rules, watched, names=names)

    def told(self, tallies: Tallies) -> Iterator[MaskedField]:
        """The answer: all fields with a rule, and all others that may hold personal data."""
        for place, rule in self.fields:
            counts = [
                tally
                for (state, name), tally in tallies.items()
                if name == place.field and state == (place.state or state)
            ]
            shown = MaskedField(
                place.operator,
                place.job_state,
                place.field,
                place.type.value,
                rule.method if rule is not None else OWN if place.is_own else NO_RULE,
            )
            if is_rest(place.field):
                if not any(tally.values for tally in counts):
                    continue
                if self.is_strict and rule is None:
                    raise MaskError(
                        f"{place}: some values can't be decoded; describe their classes by"
                        " --classes, or name the field in a rule"
                    )
            if counts:
                yield replace(
                    shown,
                    values=sum(tally.values for tally in counts),
                    changed=sum(tally.changed for tally in counts),
                    unmatched=sum(tally.unmatched for tally in counts),
                )
            else:
                yield shown


def idle_rules(rules: MaskRules, plans: Iterable[MaskPlan]) -> Iterator[MaskedField]:
    """The rules that decide no field of any plan: a wrong name in a rule leaves values unmasked."""
    deciding = {rule for plan in plans for _, rule in plan.fields}
    for rule in rules.rules:
        if rule not in deciding:
            yield MaskedField("", "", str(rule), "", NO_FIELD, values=0, changed=0)


def is_rest(name: str) -> bool:
    """Whether a field has the values of classes that are not described, if there are any."""
    return name.endswith(f".{UNDECODED}")


def expect_all_named(plans: Iterable[MaskPlan]) -> None:
    """Raises ``MaskError`` for all fields at once that no rule names."""
    unnamed = [place for plan in plans for place in plan.unnamed]
    if unnamed:
        shown = "; ".join(map(str, unnamed[:_MOST_SHOWN]))
        more = f"; and {len(unnamed) - _MOST_SHOWN} more" if len(unnamed) > _MOST_SHOWN else ""
        raise MaskError(
            f"no rule names {len(unnamed)} fields: {shown}{more}; give each a method, even if it is keep, or"
            " leave its state out"
        )


def mask_fields(operator: Operator) -> Iterator[MaskField]:
    """All fields of an operator: of keys, namespaces, values, and bytes that only it can read."""
    kryo, states = _kryo(operator), operator.catalog.states
    owns_key = has_own_key(states)
    shared = dict[str, FieldType]()
    needed = set[str]()
    for state in states:
        if state.kind.is_keyed:
            fields = _shared_fields(state, kryo)
            shared |= fields
            needed |= {
                name
                for name in fields
                if not (owns_key if _is_key(name) else has_own_namespaces(state))
            }
    for name, known in shared.items():
        yield MaskField(operator.name, "", name, known, name not in needed)
    for state in states:
        for name, known in _own_fields(state, kryo).items():
            yield MaskField(operator.name, state.name, name, known, is_own_field(state, name))
    subtasks = operator.record.subtasks
    if any(subtask.input_channels or subtask.output_channels for subtask in subtasks):
        yield MaskField(operator.name, IN_FLIGHT, VALUE, FieldType.UNKNOWN)


def _is_key(name: str) -> bool:
    return name.partition(".")[0] == "key"


def _shared_fields(state: State, kryo: KryoDialect) -> dict[str, FieldType]:
    """Fields of the key and namespace of a keyed state; numbers of namespaces are times of windows."""
    return {
        name: known
        for name, known in _key_fields(state, kryo).items()
        if _is_key(name) or (name.partition(".")[0] == "namespace" and known in _IN_NAMESPACES)
    }


def _key_fields(state: State, kryo: KryoDialect) -> dict[str, FieldType]:
    layout, _ = entry_layouts(state)
    types: dict[str, FieldType] = {}
    data_type = program(layout, kryo).type
    names = getattr(layout, "names", ())
    for name, inner in zip(names, getattr(layout, "fields", ()), strict=True):
        if name in KEY_FIELDS:
            types |= field_types(inner, data_type.field(name).type, KEY_FIELDS[name])
    return types


def _own_fields(state: State, kryo: KryoDialect) -> dict[str, FieldType]:
    """Fields of a state's values and of the keys of its map."""
    if state.kind.is_raw:
        return {VALUE: FieldType.UNKNOWN}
    if has_windows_alone(state):
        return {}
    opened = state.with_open_pojos()
    if not state.kind.is_keyed:
        return _element_fields(opened, kryo)
    _, value = entry_layouts(opened)
    own = {
        name: known
        for name, known in _key_fields(opened, kryo).items()
        if name.partition(".")[0] == "map_key"
    }
    if value is None:
        return own
    return own | field_types(value, program(value, kryo).type, VALUE, is_timed=state.has_ttl)


def _element_fields(state: State, kryo: KryoDialect) -> dict[str, FieldType]:
    layout = element_layout(state)
    data_type = program(layout, kryo).type
    if state.kind is StateKind.BROADCAST and isinstance(layout, MapOf) and _is_map(data_type):
        keys = field_types(layout.key, data_type.key_type, "map_key")
        return keys | field_types(layout.value, data_type.item_type, VALUE)
    return field_types(layout, data_type, VALUE)


def _is_map(data_type: object) -> bool:
    return hasattr(data_type, "item_type")


def _kryo(operator: Operator) -> KryoDialect:
    assert operator.kryo is not None  # operators of a savepoint have one
    return operator.kryo
