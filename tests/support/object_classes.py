"""The classes of the case ``objects`` that Kryo wrote, as a user describes them."""

from __future__ import annotations

from state_processor import kryo_class

_CARD = {"card": "java.lang.String", "month": "int", "cents": "long", "payer": "java.lang.String"}
CARD = kryo_class("shop.CardPayment", _CARD, is_pojo=True, superclass="shop.Payment")
"""A subclass of a POJO that only the files of RocksDB describe."""

CLASSES = (
    kryo_class("shop.Parcel", {"id": "long", "content": "java.lang.String"}, is_final=True),
    kryo_class("shop.Shape$Circle", {"radius": "int"}, is_final=True),
    kryo_class("shop.Shape$Square", {"side": "int", "colour": "java.lang.String"}, is_final=True),
)
