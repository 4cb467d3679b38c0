"""Keys of unknown serializers are told apart in bulk as the general path tells them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import FormatError
from savepoint_formats.layout import Layout, Opaque, Struct, Text
from savepoint_formats.program import decode as decoding
from savepoint_formats.program.assembly import program
from savepoint_formats.values.patience import Patience
from savepoint_formats.values.state_entries import EntryWriter, Suffixed, length_suffix

if TYPE_CHECKING:
    import pytest

OWN = Opaque("com.acme.Own", "its class is not known")


def records(key: Layout, namespace: Layout) -> Struct:
    return Struct(("key", "namespace"), (Suffixed(key, False), Suffixed(namespace, False)))


def written(layout: Layout, value: Any) -> bytes:
    view = DataOutputView()
    EntryWriter(view).write(layout, value)
    return view.to_bytes()


def record(key: bytes, namespace: bytes) -> bytes:
    return key + length_suffix(len(key)) + namespace + length_suffix(len(namespace))


def outcome(decode: Any, layout: Struct, data: list[bytes]) -> Any:
    """The values, or the error and its record."""
    ends = np.cumsum([len(one) for one in data]) + 3
    chunk = Chunk(np.frombuffer(b"abc" + b"".join(data), np.uint8))
    try:
        values = decode(program(layout), chunk, np.append(3, ends[:-1]), ends)
    except FormatError as error:
        return str(error), error.record
    values.validate(full=True)
    return values.to_pylist()


def general(whole: Any, chunk: Chunk, starts: Any, ends: Any) -> Any:
    return decoding._decode_ranges(whole, chunk, (starts, ends), Patience())


KEYS = st.binary(max_size=5) | st.integers(0, 70_000).map(lambda size: b"k" * size)
NAMESPACES = st.text("aä", max_size=4) | st.integers(0, 400).map(lambda size: "n" * size)
RECORDS = st.builds(record, KEYS, NAMESPACES.map(lambda text: written(Text(), text)))


@given(st.lists(RECORDS, min_size=1, max_size=6))
def test_records_have_their_keys_and_namespaces(data: list[bytes]) -> None:
    layout = records(OWN, Text())
    assert outcome(decoding.decode, layout, data) == outcome(general, layout, data)


@given(st.lists(RECORDS | st.binary(max_size=12), min_size=1, max_size=6), st.booleans())
def test_records_that_fit_in_no_way_or_in_several_are_read_as_ever(
    data: list[bytes], is_namespace: bool
) -> None:
    layout = records(Text(), OWN) if is_namespace else records(OWN, Text())
    assert outcome(decoding.decode, layout, data) == outcome(general, layout, data)


def test_a_namespace_that_does_not_fit_is_left_to_the_general_path() -> None:
    fits, other = record(b"key", written(Text(), "n")), record(b"key", b"\x85ab")
    seen = outcome(decoding.decode, records(OWN, Text()), [fits, other, fits])
    assert seen == outcome(general, records(OWN, Text()), [fits, other, fits])


def test_none_of_many_records_takes_the_general_path(monkeypatch: pytest.MonkeyPatch) -> None:
    data = [record(b"%d" % number, written(Text(), "n")) for number in range(300)]
    monkeypatch.setattr(decoding, "_decode_ranges", None)
    seen = outcome(decoding.decode, records(OWN, Text()), data)
    assert [row["key"]["bytes"] for row in seen] == [b"%d" % number for number in range(300)]
