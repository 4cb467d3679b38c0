"""Why values go through the general path, one by one: the reasons in ``Program.general``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout

BESIDE_SQL = "an object of Kryo beside a row of SQL"
NOT_DESCRIBED = "an object of an unknown Kryo, or one that nobody described and that is written"
EMPTY_ELEMENTS = "elements without bytes"
UNION_OF_MANY = "a union of null alone, or of hundreds of types"
OF_NO_COLUMN = "JSON that is written"
OF_A_ZONE = "a time with a zone of Kryo 2"
OF_A_URL = "a URL, whose text is parsed"
IN_ITSELF = "an object of a class inside itself that is written"
NOT_WRITTEN = "a collection that is read, but never written"
WRITTEN_NULLS = "a null of a union of several types that is written"
OF_SCALA = "a class or collection of Scala that is written, or that has no program"
WHY: dict[type[Layout], str] = {
    layouts.JavaObject: "Java's serialization",
    layouts.Opaque: "bytes that only their serializer knows",
    layouts.Coded: "a codec of a plug-in, which is plain Python",
    layouts.Variant: "SQL's VARIANT, whose value is JSON",
    layouts.Pickle: "a pickle of Python",
    layouts.SqlTime: "a time of day of PyFlink, whose range is checked",
    layouts.ScalaValue: "a value of Scala without a program",
    layouts.PackedTexts: "an array of texts, which only old jobs have",
    layouts.NullCount: "a count of nulls, which no job keeps",
    layouts.Enum: "an enum whose constants the snapshot does not name",
    layouts.BinaryRow: "a binary row without a size",
    layouts.BinaryArray: "a binary array without a size",
    layouts.BinaryMap: "a binary map without a size",
}
"""Layout -> why no program reads it."""


class InexpressibleError(Exception):
    """No program can read the layout at ``path``, unless it ends its record."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
