"""Whether a state that a function registers is the one that a savepoint has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.errors import StateTypeError
from savepoint_formats.state_files.state import StateKind
from state_processor.writing.new_state import NewState

if TYPE_CHECKING:
    from savepoint_formats.state_files.header import StateMetaInfo
    from state_processor.functions.state_runs import FunctionState


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
            f"{what} is {old.stored} in the savepoint, and {new.stored} in the function"
        )


def _text(state: NewState) -> str:
    return "none" if state.namespace is None else f"of {state.namespace.layout()}"
