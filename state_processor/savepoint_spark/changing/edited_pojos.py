"""POJOs whose fields change, and values of their subclasses.

A subclass also has these fields, sorted among its own. A change of the POJO's fields does not reach
such values, whether the subclass is described or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.compatibility.subclasses import Glance, seen_subclasses
from savepoint_formats.errors import SchemaChangeError, within
from savepoint_formats.layout import Pojo, parts
from savepoint_spark.changing.struct_columns import UNCHANGEABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.layout import Layout
    from savepoint_formats.state_files.state import State
    from savepoint_spark.changing.changed_table import ChangedTable


def expect_none_unknown(operator: Operator, tables: Iterable[ChangedTable]) -> None:
    """Looks at states whose fields are renamed, and which pass through as bytes.

    Raises:
        SchemaChangeError: A value is of a subclass that nobody has described, and has such fields.
        SavepointError: A file can't be read.
    """
    for table in tables:
        for state in table.table.states:
            if state.name in table.snapshots and state not in table.states:
                renamed = _changed_pojos(state.stored, table.snapshots[state.name].layout())
                with within(f"state {state.name!r}", f"operator {operator.name}"):
                    _expect_none(operator, state, renamed)


def _expect_none(operator: Operator, state: State, pojos: frozenset[str]) -> None:
    kryo = operator.kryo
    assert kryo is not None  # as it is one of a savepoint
    known = operator.directory, operator.record, [state], kryo
    for seen in seen_subclasses(*known, Glance(None)).values():
        if seen.unseen:
            raise SchemaChangeError(f"values can't be looked at for subclasses: {seen.unseen}")
        if any(subclass.superclass in pojos for subclass in seen.values):
            raise SchemaChangeError(UNCHANGEABLE)


def _changed_pojos(before: Layout, after: Layout) -> frozenset[str]:
    """The classes of POJOs whose fields change."""
    names = {pojo.class_name: pojo.names for pojo in _pojos(after)}
    return frozenset(
        pojo.class_name for pojo in _pojos(before) if names.get(pojo.class_name) != pojo.names
    )


def _pojos(layout: Layout) -> Iterator[Pojo]:
    if isinstance(layout, Pojo):
        yield layout
    for part in parts(layout):
        yield from _pojos(part)
