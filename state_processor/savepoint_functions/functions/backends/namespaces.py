"""Namespaces as state backends keep them: hashable Python values.

A window becomes the tuple of its start and end, the global window None, any other struct the tuple
of its fields. So a namespace is the same whether it comes from a function or from bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from savepoint_database.types import Types
from savepoint_formats.layout import Marker, VoidNamespace
from savepoint_spark.reading import GlobalWindow, TimeWindow, hashable

if TYPE_CHECKING:
    from collections.abc import Hashable

    from savepoint_database.types import TypeInformation
    from savepoint_spark.reading import State


def expect_namespaces(name: str, namespace: TypeInformation) -> None:
    """Raises ``ValueError`` if only one namespace of this type is possible."""
    if namespace != Types.GLOBAL_WINDOW() and isinstance(namespace.layout, VoidNamespace | Marker):
        raise ValueError(
            f"state {name!r} would have a namespace that is the same for all: leave it out"
        )


def plain_namespace(state: State, namespace: Any, *, has_namespaces: bool) -> Hashable:
    """The namespace in plain form; raises ``ValueError`` if the state has no namespaces."""
    if not has_namespaces and namespace is not None:
        raise ValueError(
            f"state {state.name!r} has no namespaces: give their type when you get the state,"
            " e.g. get_state(descriptor, namespace=Types.TIME_WINDOW())"
        )
    return plain(namespace)


def plain(namespace: Any) -> Hashable:
    """A namespace in the form of state backends."""
    match namespace:
        case TimeWindow(start, end):
            return start, end
        case GlobalWindow():
            return None
        case dict():
            return tuple(map(plain, namespace.values()))
        case _:
            return hashable(namespace)
