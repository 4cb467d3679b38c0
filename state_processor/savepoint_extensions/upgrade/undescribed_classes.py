"""Classes in the values of an operator that nobody described."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from savepoint_extensions.upgrade.survey import unknown_classes
from savepoint_formats.errors import within
from savepoint_formats.layout import holds_kryo
from savepoint_formats.scan import Glance, seen_subclasses
from savepoint_formats.state_files import entry_layouts
from savepoint_formats.values import Subclass
from savepoint_spark.changing import (
    element_arrays,
    element_layout,
    operator_states,
    stored_chunks,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from savepoint_database.snapshot import Operator
    from savepoint_formats.layout import Layout


def undescribed_classes(
    operator: Operator, on_progress: Callable[[int], None] | None = None
) -> Counter[tuple[Subclass, str]]:
    """The undescribed classes in an operator: number of values by class and state.

    Only the first unknown class in a value counts, because nothing after it can be read. Classes
    that Kryo wrote have no superclass here. ``on_progress`` gets the number of newly read values.
    """
    kryo = operator.kryo
    assert kryo is not None  # operators of a savepoint have one
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
            for data in element_arrays(operator, elements):
                yield elements.name, layout, data
