"""Records of one long or one text: read by loops of their own, as the general path reads them."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.decoding import OFTEN, bulk, same_on_both, written

from savepoint_formats import layout as layouts
from savepoint_formats.layout import Struct
from savepoint_formats.values.state_entries import entry_type

KEY = Struct(("key", "namespace"), (layouts.Long(), layouts.Marker(0)))

LONGS = st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1, max_size=40)

# Around each border: no word, words, a size of two bytes; and what no ASCII has.
TEXTS = st.one_of(
    st.none(),
    st.sampled_from([0, 1, 7, 8, 9, 15, 16, 17, 20, 125, 126, 127, 128, 300]).map(
        lambda n: "a" * n
    ),
    st.text(st.characters(max_codepoint=0x7F), max_size=140),
    st.text(max_size=30),
)


@OFTEN
@given(LONGS)
def test_longs_with_and_without_the_byte_of_a_namespace(longs: list[int]) -> None:
    for layout, values in (
        (layouts.Long(), longs),
        (KEY, [{"key": each, "namespace": None} for each in longs]),
    ):
        data, positions = written(layout, values)
        array = bulk(layout, data, list(pairwise(positions)))
        array.validate(full=True)
        assert array.equals(pa.array(values, entry_type(layout)))


@OFTEN
@given(st.lists(TEXTS, min_size=1, max_size=40))
def test_texts_of_all_sizes(texts: list[str | None]) -> None:
    data, positions = written(layouts.Text(), texts)
    array = bulk(layouts.Text(), data, list(pairwise(positions)))
    array.validate(full=True)
    assert array.to_pylist() == texts


@OFTEN
@given(st.lists(TEXTS, min_size=1, max_size=20), st.data())
def test_damage_among_texts_is_the_same_to_both_paths(
    texts: list[str | None], data: st.DataObject
) -> None:
    content, positions = written(layouts.Text(), texts)
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    same_on_both(layouts.Text(), bytes(damaged), list(pairwise(positions)))


@OFTEN
@given(st.lists(st.integers(0, 12), min_size=1, max_size=12), st.data())
def test_records_of_other_sizes_are_the_same_to_both_paths(
    sizes: list[int], data: st.DataObject
) -> None:
    positions = [0, *accumulate(sizes)]
    content = data.draw(st.binary(min_size=positions[-1], max_size=positions[-1]))
    for layout in (layouts.Long(), KEY, layouts.Text()):
        same_on_both(layout, content, list(pairwise(positions)))


@pytest.mark.parametrize("size", range(8, 40))
def test_a_wide_character_anywhere_is_seen(size: int) -> None:
    texts = ["a" * place + "ä" + "b" * (size - place - 1) for place in range(size)]
    data, positions = written(layouts.Text(), texts)
    assert bulk(layouts.Text(), data, list(pairwise(positions))).to_pylist() == texts
