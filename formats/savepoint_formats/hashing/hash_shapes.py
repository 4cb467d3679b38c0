"""Shapes of ``hashCode``: how classes of Java programs combine the hash codes of their fields.

A shape has a rule that combines hash codes (its family), and the fields in their order. Its text
looks like Java code, and can be parsed::

    Objects.hash(id, name)
    record(id, address: record(city, street))
    Lombok(active, id) with booleans 79/97

| family          | start | each field                       | written by                            |
|-----------------|-------|----------------------------------|---------------------------------------|
| Objects.hash    | 1     | 31 x state + hash                | ``Objects.hash``, ``Arrays.hashCode``, Eclipse, Guava |
| record          | 0     | 31 x state + hash                | records, Kotlin's data classes, IntelliJ |
| EffectiveJava   | 17    | 31 x state + hash                | by hand, after the book               |
| HashCodeBuilder | 17    | 37 x state + hash                | Apache Commons Lang                   |
| Lombok          | 1     | 59 x state + hash; null is 43    | ``@Data``, ``@EqualsAndHashCode``     |
| AutoValue       | 1     | (1000003 x state) xor hash       | ``@AutoValue``                        |
| product         | Scala's seed | MurmurHash3 of the hashes | case classes of Scala 2.12 and before |
| product of Name | seed, mixed with the name's hash | the same | case classes of Scala since 2.13   |
| xor             | 0     | state xor hash                   | by hand                               |
| sum             | 0     | state + hash                     | by hand                               |

A case class has the name of its declaration, such as ``product of Key(id, name)``. Case classes with
a field of floating point are not covered, because Scala hashes such numbers like equal integers.

The hash code of a single field is that of a record with it. A boolean has the hash code 1231 or
1237, unless a family hashes primitive booleans differently.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats import layout as layouts
from savepoint_formats.errors import UnstableHashError
from savepoint_formats.hashing.key_hash import (
    PRODUCT_SEED,
    as_scala_numbers,
    key_hashes,
    product_start,
)
from savepoint_formats.hashing.unstable_hashes import check_field_of_case_class
from savepoint_formats.key_groups import finish_words, mix_words
from savepoint_formats.layout import rebuilt
from savepoint_formats.token_reader import TokenReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.layout import Layout

    Hashes = NDArray[np.int32]


def shape_hashes(shape: HashShape, layout: Layout, column: pa.StructArray) -> Hashes:
    """The hash codes of structures or POJOs whose ``hashCode`` has this shape.

    Raises ``UnstableHashError`` if a field does not exist, or its hash code is unknown.
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
        case layouts.Nullable(inner) | layouts.OfClass(inner):
            return structure(inner)
        case layouts.Pojo(_, names, fields) | layouts.Struct(names, fields):
            return dict(zip(names, fields, strict=True))
    return None


def field_hashes(
    owner: HashShape, layout: Layout, column: pa.Array, shape: HashShape | None
) -> Hashes:
    """The hash codes of a field in the ``hashCode`` of its owner.

    Raises ``UnstableHashError`` if they are unknown.
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


BOXED = (1231, 1237)
"""The hash codes of ``true`` and ``false``."""


class Mix(Enum):
    """How the hash code of a field is added to the state of earlier fields."""

    ADD = "add"
    XOR = "xor"
    MURMUR = "murmur"


@dataclass(frozen=True, slots=True)
class HashFamily:
    """How hash codes of fields are combined.

    Attributes:
        name: Its name in texts of shapes.
        start: The state before the first field.
        factor: The factor of the state before each field.
        null: The hash code of a field that is null.
        booleans: Possible hash codes of true and false, the usual ones first.
    """

    name: str
    start: int
    factor: int
    mix: Mix = Mix.ADD
    null: int = 0
    booleans: tuple[tuple[int, int], ...] = (BOXED, (1, 0))

    def combined(self, fields: Sequence[Hashes]) -> Hashes:
        """The hash codes of objects, given those of their fields in order."""
        state = np.full(fields[0].shape, self.start, np.uint32)
        for field in fields:
            hashes = np.ascontiguousarray(field).view(np.uint32)
            if self.mix is Mix.MURMUR:
                state = mix_words(state, hashes)
            elif self.mix is Mix.XOR:
                state = state * np.uint32(self.factor) ^ hashes
            else:
                state = state * np.uint32(self.factor) + hashes
        if self.mix is Mix.MURMUR:
            state = finish_words(state ^ np.uint32(len(fields)))
        return state.view(np.int32)


_PRODUCT = "product"

FAMILIES = (
    HashFamily("Objects.hash", 1, 31),
    HashFamily("record", 0, 31),
    HashFamily("Lombok", 1, 59, null=43, booleans=((79, 97), BOXED)),
    HashFamily("AutoValue", 1, 1000003, Mix.XOR, booleans=(BOXED,)),
    HashFamily("EffectiveJava", 17, 31, booleans=((1, 0), BOXED, (0, 1))),
    HashFamily("HashCodeBuilder", 17, 37, booleans=((0, 1), BOXED)),
    HashFamily(_PRODUCT, PRODUCT_SEED, 1, Mix.MURMUR, booleans=(BOXED,)),
    HashFamily("xor", 0, 1, Mix.XOR),
    HashFamily("sum", 0, 1),
)


def product_of(name: str) -> HashFamily:
    """Case classes since Scala 2.13, which hash the class name first, without package and owner."""
    return HashFamily(
        f"{_PRODUCT} of {name}", product_start(name), 1, Mix.MURMUR, booleans=(BOXED,)
    )


@dataclass(frozen=True, slots=True)
class HashShape:
    """The rule and the fields of a ``hashCode``.

    Attributes:
        fields: Names of the fields in the order of hashing, each with the shape of its own
            ``hashCode`` if it is a structure.
    """

    family: HashFamily
    fields: tuple[tuple[str, HashShape | None], ...]
    booleans: tuple[int, int] = BOXED

    @staticmethod
    def parse(text: str) -> HashShape:
        """The shape with this text, as ``str`` returns it.

        Raises:
            ValueError: The text isn't a shape; the message says where, and lists the families.
        """
        at_end = _BOOLEANS.search(text)
        booleans = BOXED if at_end is None else (int(at_end[1]), int(at_end[2]))
        own = text if at_end is None else text[: at_end.start()]
        reader = TokenReader(own, _TOKEN, "shape of hashCode such as Objects.hash(id, name)")
        shape = _read_shape(reader, booleans)
        reader.expect_end()
        return shape

    def __str__(self) -> str:
        return self._plain() + (
            ""
            if self.booleans == BOXED
            else f" with booleans {self.booleans[0]}/{self.booleans[1]}"
        )

    def _plain(self) -> str:
        fields = (
            name if shape is None else f"{name}: {shape._plain()}" for name, shape in self.fields
        )
        return f"{self.family.name}({', '.join(fields)})"


_TOKEN = re.compile(r"\s*([(),:]|[^\s(),:]+)")
_BOOLEANS = re.compile(r"\s+with\s+booleans\s+(-?\d+)/(-?\d+)\s*$")


def _read_shape(reader: TokenReader, booleans: tuple[int, int]) -> HashShape:
    """Reads ``family(field, field: family(field))``."""
    name = _read_name(reader, "a family")
    family = next((family for family in FAMILIES if family.name == name), None)
    if family is None:
        known = ", ".join(family.name for family in FAMILIES)
        raise ValueError(
            f"{reader.text!r} does not name a shape of hashCode: expected one of {known}"
        )
    if name == _PRODUCT and reader.take("of"):
        family = product_of(_read_name(reader, "a class"))
    reader.expect("(")
    fields = reader.listed(lambda: _read_field(reader, booleans))
    reader.expect(")")
    return HashShape(family, tuple(fields), booleans)


def _read_field(reader: TokenReader, booleans: tuple[int, int]) -> tuple[str, HashShape | None]:
    name = _read_name(reader, "a field")
    return name, _read_shape(reader, booleans) if reader.take(":") else None


def _read_name(reader: TokenReader, what: str) -> str:
    name = reader.peek()
    if not name or name in "(),:":
        raise reader.error(what)
    reader.position += 1
    return name
