"""The values inside a value, so that ``separation`` can look for the end of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.layout import Layout, Pojo, node, serializer_length
from savepoint_formats.values.masks import read_mask
from savepoint_formats.values.pojo_values import IS_NULL, NO_SUBCLASS, subclass_of
from savepoint_formats.values.scala_values import read_arity, read_index, reads_null
from savepoint_formats.values.sizes import least_size
from savepoint_formats.values.state_entries import EntryReader, NullableRest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.values.kinds.codec import Value

_TIMESTAMP_SIZE = 8


@node
class Times(Layout):
    """``count`` values, one behind the other."""

    element: Layout
    count: int


class StrictReader(EntryReader):
    """Refuses flags that Flink does not write, and copies no undecoded bytes.

    Attributes:
        lost_at: Start of the last value with an unknown end.
    """

    lost_at: int = 0

    def undecoded(self, reason: str) -> dict[str, Value]:
        """The reason alone."""
        self.lost_at = self.view.offset
        self.view.position = self.view.end
        self.is_lost = True
        shown: dict[str, Value] = {"bytes": b"", "reason": reason}
        self.undecoded_values.append(shown)
        return shown

    def nullable(self, layout: layouts.Nullable) -> Value:
        """A flag of 0 or 1, and a value behind it unless it is null."""
        self.view.read_strict_bool()
        self.view.position -= 1
        return super().nullable(layout)


def parts_of(  # noqa: PLR0912 - the table of layouts
    layout: Layout, view: DataInputView
) -> Sequence[Layout] | None:
    """The values inside a value, behind its flags and counts; None if nobody can tell."""
    match layout:
        case layouts.Nullable():
            is_null = view.read_strict_bool() == layout.is_null
            return () if is_null else (layout.inner,)
        case NullableRest(inner):
            return () if view.read_bool() else (inner,)
        case layouts.Repeated(element):
            return (Times(element, view.read_count(element_size=0)),)
        case layouts.MapOf(key, value):
            entry = layouts.Struct(("key", "value"), (key, value))
            return parts_of(layouts.Repeated(entry), view)
        case layouts.Struct(_, fields):
            return fields
        case layouts.MaskedStruct(_, fields, has_kind):
            nulls = read_mask(2 * has_kind + len(fields), view)[2 * has_kind :]
            return [field for field, is_null in zip(fields, nulls, strict=True) if not is_null]
        case layouts.MaskedRepeated(element):
            nulls = read_mask(view.read_count(element_size=0), view)
            return (Times(element, nulls.count(False)),)
        case layouts.Tagged():
            tag = view.read_unsigned_byte()
            return (layout.fields[layout.tags.index(tag)],) if tag in layout.tags else None
        case Pojo():
            return _pojo_parts(layout, view)
        case layouts.Ttl(value):
            view.read_bytes(_TIMESTAMP_SIZE)
            return (value,)
        case layouts.Framed(inner):
            return (inner,) if view.read_count() == view.remaining else None
        case layouts.Varying(inner):
            return (inner,)
        case layouts.CaseClass() | layouts.Coproduct() | layouts.OfScala():
            return _scala_parts(layout, view)
        case _:
            return None


def _scala_parts(
    layout: layouts.CaseClass | layouts.Coproduct | layouts.OfScala, view: DataInputView
) -> Sequence[Layout] | None:
    match layout:
        case layouts.CaseClass():
            return layout.fields[: read_arity(layout, view)]
        case layouts.Coproduct():
            index = read_index(layout, view)
            return () if index is None else (layout.fields[index],)
        case layouts.OfScala(inner):
            return () if reads_null(layout, view) else (inner,)


def _pojo_parts(layout: Pojo, view: DataInputView) -> Sequence[Layout] | None:
    flags = view.read_unsigned_byte()
    if flags == IS_NULL:
        return ()
    if flags == NO_SUBCLASS:
        return layout.fields
    _, subclass = subclass_of(layout, flags, view)
    if not isinstance(subclass, Pojo):
        return (subclass,)
    return subclass.fields if view.read_unsigned_byte() == NO_SUBCLASS else None


def least_of(layout: Layout) -> int:
    """The fewest bytes of a value; for a fixed length, all of them."""
    match layout:
        case Times(element, count):
            return count * least_of(element)
        case layouts.Struct(_, fields):
            return sum(map(least_of, fields))
        case layouts.Varying(inner):
            return least_of(inner)
        case layouts.Ttl() | layouts.Framed() | layouts.Opaque():
            return 0
        case _:
            return max(serializer_length(layout), least_size(layout))
