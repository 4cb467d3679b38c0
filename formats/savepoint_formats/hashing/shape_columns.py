"""Hash codes of columns whose ``hashCode`` has a known shape."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats import layout as layouts
from savepoint_formats.errors import UnstableHashError
from savepoint_formats.hashing.hash_shapes import Mix
from savepoint_formats.hashing.key_hash import as_scala_numbers, key_hashes
from savepoint_formats.hashing.unstable_hashes import check_field_of_case_class
from savepoint_formats.layout import rebuilt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from savepoint_formats.hashing.hash_shapes import HashShape
    from savepoint_formats.layout import Layout

    Hashes = NDArray[np.int32]


def shape_hashes(shape: HashShape, layout: Layout, column: pa.StructArray) -> Hashes:
    """The hash codes of structures or POJOs whose ``hashCode`` has this shape.

    Raises:
        UnstableHashError: A field does not exist, or its hash code is unknown.
    """
    known = structure(layout)
    if known is None:
        raise UnstableHashError(f"{type(layout).__name__} has no fields for {shape}")
    hashes = []
    for name, nested in shape.fields:
        if name not in known:
            raise UnstableHashError(f"there is no field {name!r} for {shape}: {', '.join(known)}")
        hashes.append(field_hashes(shape, known[name], pc.struct_field(column, name), nested))
    return shape.family.combined(hashes)


def structure(layout: Layout) -> Mapping[str, Layout] | None:
    """The fields of a structure or a POJO; None for other layouts."""
    match layout:
        case layouts.Nullable(inner):
            return structure(inner)
        case layouts.Pojo(_, names, fields) | layouts.Struct(names, fields):
            return dict(zip(names, fields, strict=True))
    return None


def field_hashes(
    owner: HashShape, layout: Layout, column: pa.Array, shape: HashShape | None
) -> Hashes:
    """The hash codes of a field in the ``hashCode`` of its owner.

    Raises:
        UnstableHashError: They are unknown.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if shape is not None:
        hashes = shape_hashes(shape, layout, column)
    elif pa.types.is_boolean(column.type):
        true, false = owner.booleans
        hashes = np.where(
            _flags(column.fill_null(pa.scalar(False))), np.int32(true), np.int32(false)
        )
    else:
        hashes = key_hashes(rebuilt(layout, _as_list), column)
        if owner.family.mix is Mix.MURMUR:
            inner = layout.inner if isinstance(layout, layouts.Nullable) else layout
            check_field_of_case_class(inner)
            hashes = as_scala_numbers(inner, column, hashes)
    return np.where(_flags(column.is_valid()), hashes, np.int32(owner.family.null))


def _as_list(layout: Layout) -> Layout:
    """An array as a list, because a class hashes it by ``Arrays.hashCode``."""
    return replace(layout, is_array=False) if isinstance(layout, layouts.Repeated) else layout


def _flags(column: pa.BooleanArray) -> NDArray[np.bool_]:
    flags: NDArray[np.bool_] = column.to_numpy(zero_copy_only=False)
    return flags
