"""Rules that merge values: the instances of a key in local keyed state.

| rule     | values                                | result                                          |
|----------|---------------------------------------|-------------------------------------------------|
| sum      | numbers, structs of numbers           | the sum, in structs of each field               |
| min, max | ordered values, structs of such       | the least or greatest, in structs of each field |
| concat   | lists                                 | one list of all elements                        |

A sum that its type does not hold is an error. Nulls in fields of structs are ignored.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.errors import ColumnTypeError, MergeError
from savepoint_formats.values.element_rows import Collections

if TYPE_CHECKING:
    from collections.abc import Callable

    MergeInstances = Callable[[pa.ListArray], pa.Array]
    """Merges the elements of each list; no list is null or empty. Raises ``MergeError``."""

_EXACT = 2.0**62
"""If the sum as doubles is below this, the sum of longs has not wrapped."""


def merge_rule(name: str, element_type: pa.DataType) -> MergeInstances:
    """The rule ``sum``, ``min``, ``max`` or ``concat`` for values of a type.

    Raises:
        ValueError: There is no such rule.
        ColumnTypeError: It cannot merge such values.

    Example:
        >>> merge_rule("sum", pa.int64())(pa.array([[1, 2], [3]]))
        [3, 3]
    """
    if name not in MERGE_RULES:
        raise ValueError(f"merge={name!r}, expected one of {', '.join(MERGE_RULES)}")
    rule = MERGE_RULES[name]
    try:
        rule(pa.array([], pa.list_(element_type)))
    except (pa.ArrowNotImplementedError, TypeError) as error:
        raise ColumnTypeError(f"values of {element_type} have no {name}") from error
    return rule


def _concatenated(lists: pa.ListArray) -> pa.Array:
    if not pa.types.is_list(lists.type.value_type):
        raise TypeError(f"{lists.type.value_type} is no list")
    inner = Collections(Collections(lists).elements)
    sizes = np.append(0, np.cumsum(inner.lengths))
    borders = np.append(0, np.cumsum(Collections(lists).lengths))
    offsets = pa.array(sizes[borders], pa.int32())
    return pa.ListArray.from_arrays(offsets, inner.elements, type=lists.type.value_type)


def _aggregated(function: str, lists: pa.ListArray) -> pa.Array:
    wanted = lists.type.value_type
    if pa.types.is_struct(wanted):
        fields = [_aggregated(function, field) for field in _fields(lists)]
        return pa.StructArray.from_arrays(fields, fields=list(wanted))
    if pa.types.is_boolean(wanted) and function == "sum":
        raise TypeError("truth values have no sum")
    merged = _grouped(function, lists)
    if function == "sum" and pa.types.is_int64(wanted):
        _expect_exact(lists)
    try:
        return merged.cast(wanted)
    except pa.ArrowInvalid as error:
        raise MergeError(f"a {function} that is no {wanted}: {error}") from error


def _fields(lists: pa.ListArray) -> list[pa.ListArray]:
    """A list of each field of lists of structs."""
    collections = Collections(lists)
    offsets = pa.array(np.append(0, np.cumsum(collections.lengths)), pa.int32())
    return [pa.ListArray.from_arrays(offsets, column) for column in collections.elements.flatten()]


def _grouped(function: str, lists: pa.ListArray) -> pa.Array:
    """The aggregate of the elements of each list."""
    collections = Collections(lists)
    table = pa.table({"row": collections.rows, "value": collections.elements})
    grouped = table.group_by("row", use_threads=False).aggregate([("value", function)])
    return grouped.column(f"value_{function}").combine_chunks()


def _expect_exact(lists: pa.ListArray) -> None:
    """Raises ``MergeError`` if a sum of longs has wrapped."""
    collections = Collections(lists)
    doubles = collections.elements.cast(pa.float64(), safe=False)
    offsets = pa.array(np.append(0, np.cumsum(collections.lengths)), pa.int32())
    about = _grouped("sum", pa.ListArray.from_arrays(offsets, doubles))
    for row in np.flatnonzero(np.abs(about.fill_null(0).to_numpy()) >= _EXACT).tolist():
        exact = sum(element for element in lists[row].as_py() if element is not None)
        if not -(1 << 63) <= exact < 1 << 63:
            raise MergeError(f"a sum of {exact}, which no long holds")


MERGE_RULES: dict[str, MergeInstances] = {
    "sum": partial(_aggregated, "sum"),
    "min": partial(_aggregated, "min"),
    "max": partial(_aggregated, "max"),
    "concat": _concatenated,
}
