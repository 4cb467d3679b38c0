"""Classes of the user in values whose fields nobody has described.

They were written by Kryo, or by the serializer of a POJO that they extend.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats.compatibility.seen_subclasses import Glance, seen_subclasses
from savepoint_formats.errors import within
from savepoint_formats.pass_through.recoded_entries import entry_layouts
from savepoint_formats.program.survey import unknown_classes
from savepoint_formats.values.recoding import holds_kryo
from savepoint_formats.values.subclass_values import Subclass
from savepoint_spark.changing.stored_elements import (
    element_layout,
    operator_states,
    stored_elements,
)
from savepoint_spark.changing.stored_rows import stored_chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.layout import Layout

_MANY = 1 << 16
"""Elements of operator state that are read together."""


def classes_to_describe(
    operator: Operator, on_progress: Callable[[int], None] | None = None
) -> Counter[tuple[Subclass, str]]:
    """The undescribed classes in an operator: number of values by class and state.

    Only the first unknown class in a value counts, because nothing behind it can be read. Classes
    that Kryo wrote have no superclass here. ``on_progress`` gets the number of newly read values.

    Raises:
        SavepointError: A file can't be read.
    """
    kryo = operator.kryo
    assert kryo is not None  # as it is one of a savepoint
    counts: Counter[tuple[Subclass, str]] = Counter()
    with within(f"operator {operator.name}"):
        for state, layout, data in _parts(operator):
            unknown = unknown_classes(layout, data, kryo)
            counts.update({(Subclass(name, ""), state): count for name, count in unknown.items()})
            if on_progress is not None:
                on_progress(len(data))
        known = operator.directory, operator.record, operator.catalog.states, kryo
        for state, seen in seen_subclasses(*known, Glance(None)).items():
            counts.update({(subclass, state): count for subclass, count in seen.values.items()})
    return counts


def _parts(operator: Operator) -> Iterator[tuple[str, Layout, pa.LargeBinaryArray]]:
    """All data that may hold objects of Kryo, in batches, with its layouts."""
    for state in operator.catalog.states:
        if state.kind.is_raw or not state.kind.is_keyed:
            continue
        if not any(layout and holds_kryo(layout) for layout in entry_layouts(state)):
            continue
        for chunk in stored_chunks(operator, state.name):
            layouts = entry_layouts(chunk.state)
            for layout, data in zip(
                layouts, (chunk.entries.keys, chunk.entries.values), strict=True
            ):
                if layout is not None and holds_kryo(layout):
                    yield state.name, layout, data
    for elements in operator_states(operator).values():
        layout = element_layout(elements)
        if holds_kryo(layout):
            data = iter(stored_elements(operator, elements))
            while few := list(islice(data, _MANY)):
                yield elements.name, layout, pa.array(few, pa.large_binary())
