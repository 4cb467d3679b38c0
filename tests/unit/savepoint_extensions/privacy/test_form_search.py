"""A search for many forms at once, beside a look at each place for each form."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_extensions.privacy import form_search
from savepoint_extensions.privacy.form_search import FormSearch
from savepoint_extensions.privacy.text_forms import SoughtTexts

BLOCK = 64

FORMS = st.lists(st.binary(min_size=1, max_size=6), min_size=1, max_size=8, unique=True)


def ends_one_by_one(forms: list[bytes], data: bytes) -> list[int]:
    """The ends of forms, found from place to place; the longest of a place counts, and hides what it overlaps."""
    ends, place = [], 0
    while place < len(data):
        sizes = [len(form) for form in forms if data.startswith(form, place)]
        place += max(sizes, default=1)
        if sizes:
            ends.append(place)
    return ends


@given(FORMS, st.lists(st.integers(0, 255) | st.none(), max_size=40), st.data())
def test_ends_are_those_of_a_look_at_each_place(
    forms: list[bytes], noise: list[int | None], data: st.DataObject
) -> None:
    parts = [data.draw(st.sampled_from(forms)) if byte is None else bytes([byte]) for byte in noise]
    content = b"".join(parts)
    assert list(FormSearch(forms).ends(content)) == ends_one_by_one(forms, content)


@given(
    FORMS,
    st.lists(st.tuples(st.integers(0, 8), st.integers(-8, 8)), min_size=1, max_size=6),
    st.data(),
)
def test_forms_on_the_borders_of_blocks_are_counted_once(
    forms: list[bytes], places: list[tuple[int, int]], data: st.DataObject
) -> None:
    content = bytearray(b"\xaa" * (4 * BLOCK + 50))
    for half, beside in places:
        form = data.draw(st.sampled_from(forms))
        at = max(half * BLOCK // 2 + beside, 0)
        content[at : at + len(form)] = form
    expected = ends_one_by_one(forms, bytes(content))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(form_search, "_BLOCK", BLOCK)
        assert list(FormSearch(forms).ends(bytes(content))) == expected


def test_each_byte_means_itself() -> None:
    values = pa.array([bytes([byte]) for byte in range(256)], pa.binary())
    for byte in range(256):
        assert FormSearch([bytes([byte])]).has_any(values).nonzero()[0].tolist() == [byte]


def test_null_and_long_forms() -> None:
    long = bytes(range(256)) * 8
    values = pa.array([None, b"x" + long, long[:-1], b"a\xff\0b"], pa.large_binary())
    assert FormSearch([long, b"\xff\0b"]).has_any(values).tolist() == [False, True, False, True]
    assert FormSearch([long]).has_any(values).tolist() == [False, True, False, False]


def test_many_forms_are_divided_and_each_is_seen() -> None:
    sought = SoughtTexts(tuple(f"ada{number}@example.com" for number in range(200)))
    values = pa.array([*sought.forms, b"bob@example.com"], pa.binary())
    assert sought.search.has_any(values).tolist() == [True] * len(sought.forms) + [False]
