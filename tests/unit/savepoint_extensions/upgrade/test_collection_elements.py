"""Elements of collections, as the user names them."""

from __future__ import annotations

import pytest

from savepoint_extensions.upgrade.collection_elements import described_elements
from savepoint_formats.layout import Kryo, Nullable, Pojo, Struct, Text
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo_collections import CollectionPlace, collection_places

LIST, TUPLE = "java.util.List", "org.apache.flink.api.java.tuple.Tuple"
INNER = Struct(("f0", "f1"), (Text(), Kryo(LIST)))
BASKET = Pojo("Basket", ("pair",), (Nullable(Struct(("f0",), (INNER,))),))


@pytest.mark.parametrize(
    ("declared", "known"),
    [
        (f"{TUPLE}1<{TUPLE}2<java.lang.String, {LIST}<java.lang.Long>>>", {0: ("java.lang.Long",)}),
        (f"{TUPLE}1<{TUPLE}2<java.lang.String, {LIST}>>", {0: None}),
        (f"{TUPLE}1", {}),
    ],
)
def test_a_description_says_what_is_in_a_tuple(
    declared: str, known: dict[int, tuple[str, ...] | None]
) -> None:
    places = collection_places(BASKET)
    assert places == (CollectionPlace(LIST, "Basket", "pair", (0, 1)),)
    assert str(places[0]) == "Basket.pair.f0.f1"
    kryo = KryoDialect(KryoVersion.V2_24, (kryo_class("Basket", {"pair": declared}),))
    assert described_elements(places, kryo) == known
