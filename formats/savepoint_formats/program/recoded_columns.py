"""Rewrites values in bulk: one program decodes them, another encodes them.

A column does not tell the class of a list, or whether an object comes twice. So each value is also
encoded as it was. If that gives the same bytes, nothing is lost. All other values are left to
``values.recoding``, which defines the result.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.errors import UnencodableError
from savepoint_formats.layout import (
    Enum,
    Kryo,
    Layout,
    MapOf,
    Nullable,
    Pojo,
    Repeated,
    TypeArgument,
    with_kryo,
    with_kryo_classes,
)
from savepoint_formats.program.assembly import program, written_program
from savepoint_formats.program.byte_ranges import ranges_in
from savepoint_formats.program.decode import decode_what_fits
from savepoint_formats.program.encode import encode_what_fits
from savepoint_formats.values.kryo_values import CLASSES_OF_LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from savepoint_formats.layout import KryoClass
    from savepoint_formats.program.program import Program
    from savepoint_formats.values.kryo.dialect import KryoDialect

_FIRST_ID = 85
"""The number of the first registered class in written objects."""

_LARGE = 1 << 28
"""Bytes of values that are rewritten at once."""


@dataclass(frozen=True, slots=True, eq=False)
class BulkRecoding:
    """Rewrites values of one layout as another layout.

    Attributes:
        reads: Decodes the values.
        writes: Encodes them as they were.
        anew: Encodes them in the new layout.
    """

    reads: Program
    writes: Program
    anew: Program

    @staticmethod
    def of(
        old: Layout, new: Layout, reads: KryoDialect, writes: KryoDialect
    ) -> BulkRecoding | None:
        """The recoding with the arguments of ``values.recoding.Recoding``; None without programs."""
        return _bulk_recoding(old, new, reads, writes)

    def recoded(
        self, data: pa.LargeBinaryArray, one_by_one: Callable[[bytes], bytes]
    ) -> pa.LargeBinaryArray:
        """The new bytes of each value; ``one_by_one`` rewrites those that decoding may change."""
        arrays = [self._recoded(data[start:end], one_by_one) for start, end in _ranges(data)]
        return pa.concat_arrays(arrays) if arrays else pa.array([], pa.large_binary())

    def _recoded(
        self, data: pa.LargeBinaryArray, one_by_one: Callable[[bytes], bytes]
    ) -> pa.LargeBinaryArray:
        try:
            rows, written = self._without_loss(data)
        except UnencodableError:
            rows, written = np.empty(0, np.int64), pa.array([], pa.large_binary())
        others = np.delete(np.arange(len(data)), rows)
        if not len(others):
            return written
        rest = pa.array(map(one_by_one, data.take(pa.array(others)).to_pylist()), pa.large_binary())
        order = np.argsort(np.concatenate([rows, others]), kind="stable")
        return pa.concat_arrays([written, rest]).take(pa.array(order))

    def _without_loss(
        self, data: pa.LargeBinaryArray
    ) -> tuple[NDArray[np.int64], pa.LargeBinaryArray]:
        """The rows that decoding does not change, and their new bytes."""
        held, ranges = ranges_in(data)
        column, rows = decode_what_fits(self.reads, Chunk(held), ranges.starts, ranges.ends)
        for target, stored in ((self.writes, data.take(pa.array(rows))), (self.anew, None)):
            written, refused = encode_what_fits(target, column)
            is_kept = np.ones(len(rows), np.bool_)
            is_kept[refused] = False
            if stored is not None:
                is_kept &= pc.equal(written, stored).to_numpy(zero_copy_only=False)
            rows = rows[is_kept]
            if not is_kept.all():
                column = column.filter(pa.array(is_kept))
                written = written.filter(pa.array(is_kept))
        return rows, written


def _ranges(data: pa.LargeBinaryArray) -> list[tuple[int, int]]:
    """Ranges of values that are in memory at once."""
    if not len(data):
        return []
    _, ranges = ranges_in(data)
    borders = np.flatnonzero(np.diff((ranges.ends - ranges.starts[0]) // _LARGE)) + 1
    edges = [0, *borders.tolist(), len(data)]
    return list(itertools.pairwise(edges))


@lru_cache(maxsize=200)
def _bulk_recoding(
    old: Layout, new: Layout, reads: KryoDialect, writes: KryoDialect
) -> BulkRecoding | None:
    if not reads.first_id == writes.first_id == _FIRST_ID:
        return None
    stored = _with_elements(written_layout(old, reads), new, reads.classes)
    wanted = written_layout(new, writes)
    recoding = BulkRecoding(
        program(stored, reads), written_program(stored), written_program(wanted)
    )
    programs = (recoding.reads, recoding.writes, recoding.anew)
    is_known = (
        not any(made.has_ranges for made in programs) and recoding.reads.graph_classes is not None
    )
    return recoding if is_known and recoding.reads.type == recoding.anew.type else None


T = TypeVar("T")


def _with_elements(old: T, new: object, classes: tuple[KryoClass, ...]) -> T:
    """A layout with the types of elements for which the new one has serializers."""
    result: object = old
    if isinstance(old, Kryo):
        if not isinstance(new, Kryo):
            result = replace(old, arguments=_arguments(new), classes=classes)
    elif isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
        pairs = zip(old, new, strict=True)
        result = tuple(_with_elements(part, other, classes) for part, other in pairs)
    elif isinstance(old, Layout) and type(old) is type(new):
        names = [field.name for field in fields(old)]  # type: ignore[arg-type]  # every node is a dataclass
        parts = {
            name: _with_elements(getattr(old, name), getattr(new, name), classes) for name in names
        }
        result = replace(old, **parts)  # type: ignore[type-var]
    return result  # type: ignore[return-value]  # each is rebuilt as what it was


def _arguments(layout: object) -> tuple[TypeArgument, ...]:
    """The types of a collection's elements, by the layout that it gets; nothing if one is unknown."""
    match layout:
        case Repeated(element):
            types = [_argument(element)]
        case MapOf(key, value):
            types = [_argument(key), _argument(value)]
        case _:
            return ()
    return tuple(known for known in types if known) if all(types) else ()


def _argument(layout: Layout) -> TypeArgument | None:
    match layout:
        case Nullable(inner):
            return _argument(inner)
        case Kryo(name) | Pojo(name) | Enum(name):
            return TypeArgument(name)
        case Repeated() | MapOf() if arguments := _arguments(layout):
            is_map = isinstance(layout, MapOf)
            return TypeArgument("java.util.Map" if is_map else "java.util.List", arguments)
        case _:
            names = CLASSES_OF_LAYOUTS.get(type(layout))
            return TypeArgument(names[0]) if names else None


def written_layout(layout: Layout, dialect: KryoDialect) -> Layout:
    """The layout for writing objects of a Kryo, with all classes described."""

    def for_dialect(kryo: Kryo) -> Kryo:
        return replace(kryo, version=dialect.version.value, is_open=True)

    return with_kryo(with_kryo_classes(layout, dialect.classes), for_dialect)
