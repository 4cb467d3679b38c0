"""The classes of the case ``objects`` that Kryo wrote, as a user describes them."""

from __future__ import annotations

from state_processor import kryo_class

CLASSES = (
    kryo_class("shop.Parcel", {"id": "long", "content": "java.lang.String"}, is_final=True),
    kryo_class("shop.Shape$Circle", {"radius": "int"}, is_final=True),
    kryo_class("shop.Shape$Square", {"side": "int", "colour": "java.lang.String"}, is_final=True),
)
