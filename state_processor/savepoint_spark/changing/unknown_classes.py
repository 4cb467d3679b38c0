"""Classes of the user in values, of which nobody has said what fields they have.

Kryo wrote them, or the serializer of a POJO that they extend.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from savepoint_formats.compatibility.subclasses import Glance, seen_subclasses
from savepoint_formats.errors import within
from savepoint_formats.pass_through.recoded_entries import entry_layouts
from savepoint_formats.values.recoding import holds_kryo, unknown_class
from savepoint_formats.values.subclass_values import Subclass
from savepoint_spark.changing.stored_elements import StoredElements, element_layout, stored_elements
from savepoint_spark.changing.stored_rows import stored_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.layout import Layout


def classes_to_describe(operator: Operator) -> Counter[tuple[Subclass, str]]:
    """The classes in the states of an operator that have to be described, each with its state.

    Of each value it is the first one, behind which nothing can be read: what is described then may
    have others in it. A class that Kryo wrote has no superclass here.

    Returns:
        Class and state -> the number of such values.

    Raises:
        SavepointError: A file can't be read.
    """
    kryo = operator.kryo
    assert kryo is not None  # as it is one of a savepoint
    counts: Counter[tuple[Subclass, str]] = Counter()
    with within(f"operator {operator.name}"):
        for state, layout, data in _parts(operator):
            name = unknown_class(layout, data, kryo)
            if name is not None:
                counts[Subclass(name, ""), state] += 1
        known = operator.directory, operator.record, operator.catalog.states, kryo
        for state, seen in seen_subclasses(*known, Glance(None)).items():
            counts.update({(subclass, state): count for subclass, count in seen.values.items()})
    return counts


def _parts(operator: Operator) -> Iterator[tuple[str, Layout, bytes]]:
    """All that may hold objects of Kryo, and how it lies."""
    for state in operator.catalog.states:
        if state.kind.is_raw or not state.kind.is_keyed:
            continue
        if not any(layout and holds_kryo(layout) for layout in entry_layouts(state)):
            continue
        for piece in stored_pieces(operator, state.name):
            layouts = entry_layouts(piece.state)
            for layout, data in zip(
                layouts, (piece.entries.keys, piece.entries.values), strict=True
            ):
                yield from ((state.name, *part) for part in _of_kryo(layout, data))
    for elements in StoredElements.states_of(operator).values():
        layout = element_layout(elements)
        if holds_kryo(layout):
            data = stored_elements(operator, elements)
            yield from ((elements.name, layout, element) for element in data)


def _of_kryo(layout: Layout | None, data: pa.LargeBinaryArray) -> Iterator[tuple[Layout, bytes]]:
    if layout is not None and holds_kryo(layout):
        yield from ((layout, value) for value in data.to_pylist())
