"""Finds values of subclasses that no serializer's snapshot describes, in bulk.

The bytes of such a value have the flag 4 and the name of its class; see ``pojo_values``. Only
values with such bytes are walked one by one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import UndecodableError
from savepoint_formats.layout import holds_kryo, nodes_of
from savepoint_formats.values.pojo_values import IS_SUBCLASS
from savepoint_formats.values.recoding import ValueWalk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.layout import Layout
    from savepoint_formats.values.kryo.dialect import KryoDialect

# Longer names than 0x03FF have no class file: file names have at most 255 bytes, paths a few thousand.
# Java writes no zero byte, and permits control characters behind the first character.
_NAME = r"[A-Za-z_$\x{80}-\x{ff}][^\x00]{%d}"
_SHORT = (rf"\x00\x{size:02x}{_NAME % (size - 1)}" for size in range(1, 16))
_LOOKS_NAMED = rf"(?s)\x04(?:{'|'.join(_SHORT)}|(?:\x00[\x10-\xff]|[\x01-\x03].){_NAME % 15})"
"""The flag, the size of the name in two bytes, and up to 16 bytes of the name."""


class Subclass(NamedTuple):
    """The class of values, and the POJO that they stand for."""

    class_name: str
    superclass: str


@lru_cache(maxsize=1000)
def holds_pojo(layout: Layout) -> bool:
    """Whether values of a layout may hold POJOs that Kryo does not write."""
    return any(nodes_of(layout, layouts.Pojo))


def undescribed_subclasses(
    layout: Layout, data: pa.LargeBinaryArray, kryo: KryoDialect
) -> Iterator[Subclass]:
    """The first subclass in each value that neither a snapshot nor a description knows.

    Raises:
        FormatError: A value is damaged.
        UnencodableError: The values inside another serializer's value can't be told apart.
    """
    if not holds_pojo(layout):
        return
    likely = pc.fill_null(pc.match_substring_regex(data, _LOOKS_NAMED), fill_value=False)
    for value in data.filter(likely).to_pylist():
        walk = _LookingWalk(DataInputView(value), kryo, kryo)
        try:
            walk.recode(layout, layout)
        except UndecodableError:
            if walk.undescribed is not None:
                yield walk.undescribed


class _LookingWalk(ValueWalk):
    """Stops at the first subclass that is not described."""

    undescribed: Subclass | None = None

    def enters(self, layout: Layout) -> bool:
        """Whether there may be POJOs, or undecodable objects."""
        return holds_pojo(layout) or holds_kryo(layout)

    def subclass(self, old: layouts.Pojo, new: layouts.Pojo, flags: int) -> None:
        start = self.view.position
        if flags == IS_SUBCLASS:
            name = self.view.read_utf()
            if name not in dict(old.unregistered):
                self.undescribed = Subclass(name, old.class_name)
        self.view.position = start
        super().subclass(old, new, flags)
