"""Values of subclasses that nobody has described, picked out of many."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.counted_calls import calls_in
from support.nightly import examples

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.layout import Int, Layout, Pojo, Text
from savepoint_formats.scan.subclasses_seen import Glance
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.state_entries import Delimited, EntryWriter
from savepoint_formats.values.subclass_values import Subclass, undescribed_subclasses

KRYO = KryoDialect(KryoVersion.V2_24, ())
FIELDS = (layouts.Nullable(Int()), layouts.Nullable(Text()))
ITEM = Pojo("shop.Item", ("size", "name"), FIELDS, unregistered=(("shop.Known", Text()),))
UNKNOWN = ("B", "shop.Big", "shop.\u00e4\u00e4.Big$One", "x." * 150 + "Long")
AROUND: dict[str, Layout] = {
    "alone": ITEM,
    "list": Delimited(layouts.Framed(ITEM)),
    "field": Pojo("shop.Box", ("item",), (layouts.Nullable(ITEM),)),
}


def item(size: int, name: str, subclass: str | None) -> bytes:
    view = DataOutputView()
    if subclass is not None:
        view.write_byte(4)
        view.write_utf(subclass)
    if subclass == "shop.Known":
        EntryWriter(view).write(Text(), name)
    else:
        view.write_byte(2)
        for layout, value in zip(FIELDS, (size, name), strict=True):
            EntryWriter(view).write(layout, value)
    return view.to_bytes()


def around(where: str, data: bytes) -> bytes:
    match where:
        case "list":
            return len(data).to_bytes(4, "big") + data
        case "field":
            return b"\2\0" + data
        case _:
            return data


ITEMS = st.tuples(
    st.sampled_from([4, 0x0400, 0x04000141]) | st.integers(-(1 << 31), (1 << 31) - 1),
    st.sampled_from(["\4", "shop.Big", "\4\0\10shop.Big"]) | st.text(max_size=9),
    st.sampled_from([None, "shop.Known", *UNKNOWN]),
)


@settings(max_examples=examples(40))
@given(st.sampled_from(sorted(AROUND)), st.lists(ITEMS, max_size=20))
def test_all_of_them_are_seen_and_nothing_else(
    where: str, items: list[tuple[int, str, str | None]]
) -> None:
    data = pa.array([around(where, item(*parts)) for parts in items], pa.large_binary())
    seen = Counter(undescribed_subclasses(AROUND[where], data, KRYO))
    names = (name for _, _, name in items if name in UNKNOWN)
    assert seen == Counter(Subclass(name, "shop.Item") for name in names if name)


# Java permits these in names, but not as the first character.
CONTROLS = "".join(map(chr, (0x7F, 0x1B, *range(9), *range(0x0E, 0x1B), 0x80)))


@pytest.mark.parametrize("later", ["x.Y$9_\u00e4", CONTROLS], ids=["usual", "controls"])
@pytest.mark.parametrize("first", ["B", "_", "$", "\u00e4"])
def test_names_of_all_sizes_are_seen(first: str, later: str) -> None:
    names = [first + (later * size)[:size] for size in (*range(300), 340)]
    data = pa.array([item(7, "", name) for name in names], pa.large_binary())
    seen = Counter(undescribed_subclasses(ITEM, data, KRYO))
    assert seen == Counter(Subclass(name, "shop.Item") for name in names)


def test_few_values_are_walked_because_of_their_numbers_and_texts() -> None:
    """The ends of numbers and beginnings of doubles and texts look like a flag and a size."""
    numbers = Pojo("shop.Sum", ("id", "name", "price"), (layouts.Long(), Text(), layouts.Double()))
    values = []
    for number in range(1000):
        view = DataOutputView()
        view.write_byte(2)
        for layout, value in ((Text(), f"c{number}"), (layouts.Double(), 148.4 + number / 7)):
            view.write_byte(0)
            EntryWriter(view).write(layouts.Long(), 0x0400 + 4)
            view.write_byte(0)
            EntryWriter(view).write(layout, value)
        values.append(view.to_bytes())
    data = pa.array(values, pa.large_binary())
    calls = calls_in(lambda: list(undescribed_subclasses(numbers, data, KRYO)))
    assert calls["subclass_values.enters"] == 0


def test_a_glance_ends() -> None:
    data = pa.array([b"12345678"], pa.large_binary())
    glance = Glance(data.nbytes)
    assert [glance.takes(data), glance.takes(data)] == [True, False]
    assert Glance(None).takes(data)
