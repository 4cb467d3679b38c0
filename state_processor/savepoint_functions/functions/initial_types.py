"""Whether a state that a function registers is the one that a savepoint has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.errors import StateTypeError
from savepoint_formats.layout import Enum, Pojo, without_ttl
from savepoint_formats.state_files.state import StateKind
from savepoint_spark.writing.new_state import NewState

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from savepoint_formats.layout import Layout
    from savepoint_formats.state_files.header import StateMetaInfo
    from savepoint_functions.functions.state_runs import FunctionState


def expect_same_state(state: FunctionState, info: StateMetaInfo) -> None:
    """Raises ``StateTypeError`` if a function registers a state as another one than it is.

    Args:
        state: What the function registers.
        info: What the header of the savepoint says of the state of that name.
    """
    new, old = state.new, NewState(info, None)
    what = f"state {new.name!r}"
    if new.kind is not old.kind:
        raise StateTypeError(
            f"{what} is {old.kind.value} state in the savepoint, and the function registers it as"
            f" {new.kind.value} state"
        )
    if (new.namespace and new.namespace.layout()) != (old.namespace and old.namespace.layout()):
        raise StateTypeError(
            f"{what} has namespaces {_text(old)} in the savepoint, and {_text(new)} in the function"
        )
    if new.kind is not StateKind.TIMERS and new.stored != old.stored:
        raise StateTypeError(
            f"{what} is {old.stored} in the savepoint, and {new.stored} in the function:"
            f" {_difference(old.stored, new.stored)}"
        )


def _difference(old: Layout, new: Layout) -> str:
    """What Flink would say of a serializer with the new layout for values of the old one."""
    if (without_ttl(old) == old) != (without_ttl(new) == new):
        return "one of them has a time to live, and the other has none"
    match without_ttl(old), without_ttl(new):
        case Pojo() as was, Pojo() as is_now if was.class_name == is_now.class_name:
            fields, wanted = (
                dict(zip(layout.names, layout.fields, strict=True)) for layout in (was, is_now)
            )
            others = [name for name in fields.keys() & wanted if fields[name] != wanted[name]]
            if not others:
                return (
                    f"Flink would migrate it, of which fields {_names(wanted, fields)} are new and"
                    f" {_names(fields, wanted)} gone: write it with add_field and drop_field first"
                )
            return f"field {min(others)!r} has another type, which Flink refuses"
        case Enum(_, before), Enum(_, after) if after[: len(before)] == before:
            return "Flink would take new constants behind the old ones: leave them out here"
        case _:
            return "Flink refuses it"


def _names(names: Iterable[str], known: Container[str]) -> str:
    return ", ".join(name for name in names if name not in known) or "none"


def _text(state: NewState) -> str:
    return "none" if state.namespace is None else f"of {state.namespace.layout()}"
