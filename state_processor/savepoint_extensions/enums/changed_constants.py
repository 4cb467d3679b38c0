"""Changes of constants of enums; see ``ConstantChanges``."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from savepoint_extensions.enums.constant_change import ConstantChange, constants_of
from savepoint_extensions.enums.enum_constants import (
    constant_uses,
    expect_no_java_names,
    expect_no_places,
    present_snapshots,
    without_constant,
)
from savepoint_formats.errors import ClassNotNamedError, SchemaChangeError
from savepoint_formats.printable import alternatives, without_secrets
from savepoint_formats.snapshots import ClassRename
from savepoint_spark.changing import Part, StageRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_spark.changing import ChangedOperator, HeaderChanges
    from state_processor import SavepointWriter

_NAMES = StageRule(frozenset({Part.ENTRIES}))
_DROPPED = StageRule(StageRule.ENTRIES.sees | {Part.CHOICES, Part.DELETED})


def with_new_name(
    writer: SavepointWriter, enum_class: str, old: str, new: str, uid: str | None
) -> SavepointWriter:
    """See ``SavepointChanges.rename_constant``."""
    writer = writer.ready_for(_NAMES, uid)
    change = ConstantChange(enum_class, old, new)
    for name in _named_in(writer.changes_of(uid), change):
        writer = writer.changed(name, partial(_renamed, change))
    return writer


def _renamed(change: ConstantChange, operator: ChangedOperator) -> ChangedOperator:
    return replace(operator, headers=operator.headers.with_change(change))


def without(
    writer: SavepointWriter, enum_class: str, constant: str, uid: str | None
) -> SavepointWriter:
    """See ``SavepointChanges.drop_constant``."""
    writer = writer.ready_for(_DROPPED, uid)
    change = ConstantChange(enum_class, constant, None)
    operators = writer.changes_of(uid)
    named = _named_in(operators, change)
    uses = {name: _uses(operators[name], change) for name in named}
    if any(uses.values()):
        raise _used(change, uses, writer)
    for name in named:
        writer = writer.changed(name, partial(_without, change))
    return writer


def _without(change: ConstantChange, operator: ChangedOperator) -> ChangedOperator:
    if operator.is_local:
        raise SchemaChangeError(
            f"operator {operator.operator.name} has local state, whose constants stay: write it with"
            " merge_local first, and change the new savepoint"
        )
    before = _before(operator.headers, change)
    return operator.with_change(without_constant(operator.operator, before))


def _before(headers: HeaderChanges, change: ConstantChange) -> ConstantChange:
    """A change of a constant by the names in the savepoint."""
    for earlier in reversed(headers.changes):
        match earlier:
            case ClassRename(old, new) if new == change.enum_class:
                change = replace(change, enum_class=old)
            case ConstantChange(change.enum_class, old, change.old):
                change = replace(change, old=old)
    return change


def _is_changed(operator: ChangedOperator, change: ConstantChange) -> bool:
    """Whether serializers name the constant; ``SchemaChangeError`` if it can't change."""
    if all(change.of(snapshot) == snapshot for snapshot in _present_snapshots(operator)):
        return False
    before = _before(operator.headers, change)
    if change.new is None:
        expect_no_places(operator.operator, before)
    else:
        expect_no_java_names(operator.operator, before)
    return True


def _uses(operator: ChangedOperator, change: ConstantChange) -> Counter[str]:
    """How often its states have a constant, by their present names; reads all their values."""
    headers = operator.headers
    uses = constant_uses(operator.operator, _before(headers, change), operator.removed)
    return Counter({headers.name(name): count for name, count in uses.items()})


def constants(operator: ChangedOperator) -> dict[str, tuple[str, ...]]:
    """The constants of all enums that serializers name, by the class."""
    return constants_of(_present_snapshots(operator))


def _present_snapshots(operator: ChangedOperator) -> Iterator[TypeSerializerSnapshot]:
    """The serializers that a write would give now."""
    written = present_snapshots(operator.operator, operator.removed)
    return map(operator.headers.snapshot, written)


def _named_in(operators: Mapping[str, ChangedOperator], change: ConstantChange) -> list[str]:
    """The operators whose serializers name the constant."""
    # Tries all of them, because each may have the name where it cannot be changed.
    named = [name for name, operator in operators.items() if _is_changed(operator, change)]
    if named:
        return named
    enums: dict[str, dict[str, None]] = {}
    for operator in operators.values():
        for enum_class, known in constants(operator).items():
            enums.setdefault(enum_class, {}).update(dict.fromkeys(known))
    if change.enum_class in enums:
        raise ClassNotNamedError(
            f"enum {change.enum_class} has no constant {change.old!r};"
            f" {alternatives(change.old, enums[change.enum_class])}"
        )
    raise ClassNotNamedError(
        f"no serializer has constants of {change.enum_class}, and values of Kryo have none by name;"
        f" {alternatives(change.enum_class, enums)}"
    )


def _used(
    change: ConstantChange, uses: Mapping[str, Mapping[str, int]], writer: SavepointWriter
) -> SchemaChangeError:
    places = ", ".join(
        f"{count} in state {state!r} of operator {name}"
        for name, counts in uses.items()
        for state, count in counts.items()
    )
    total = sum(sum(counts.values()) for counts in uses.values())
    path = "PATH" if writer.source is None else without_secrets(writer.source.path)
    return SchemaChangeError(
        f"constant {change.old!r} of {change.enum_class} is used {total} times: {places}. Give these"
        f" values another one by update_state first; savepoint find {path} {change.old} lists them"
    )
