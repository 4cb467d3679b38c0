"""Columns of objects that Kryo is to read: written, and read again, they are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.nightly import examples

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.errors import UnencodableError
from savepoint_formats.layout import Kryo
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.dialect import written_dialect

if TYPE_CHECKING:
    from savepoint_formats.layout import KryoClass

both = pytest.mark.parametrize("version", ["2.24", "5.6"])

INTS = st.integers(-(1 << 31), (1 << 31) - 1)
LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
DAYS = st.integers(-3_000_000, 3_000_000)
CLOCKS = st.from_regex(r"\A([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{8}[1-9])?\Z")
OFFSETS = st.sampled_from(["Z", "+01:00", "-05:45", "+00:00:07", "-17:59:59"])
INSTANTS = st.fixed_dictionaries(
    {"seconds": st.integers(-(10**12), 10**12), "nanos": st.integers(0, 10**9 - 1)}
)
MILLIS = st.integers(-(10**15), 10**15)

TYPES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "byte": st.integers(-128, 127),
    "char": st.characters(codec="utf-8", max_codepoint=0xFFFF),
    "short": st.integers(-(1 << 15), (1 << 15) - 1),
    "int": INTS,
    "long": LONGS,
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "java.lang.Short": st.none() | st.integers(-(1 << 15), (1 << 15) - 1),
    "java.lang.Character": st.none() | st.characters(codec="utf-8", max_codepoint=0xFFFF),
    "java.lang.String": st.none() | TEXTS,
    "java.util.UUID": st.none() | st.uuids().map(str),
    "java.util.Currency": st.none() | st.just("EUR"),
    "java.net.URL": st.none() | st.just("https://example.org/a?b=c"),
    "java.math.BigInteger": st.none() | st.integers().map(str),
    "java.math.BigDecimal": st.none()
    | st.decimals(allow_nan=False, allow_infinity=False).map(lambda one: str(one + 0)),
    "java.util.Date": st.none() | MILLIS,
    "java.sql.Timestamp": st.none() | INSTANTS,
    "java.time.Instant": st.none() | INSTANTS,
    "java.time.LocalDateTime": st.none() | INSTANTS,
    "java.time.LocalDate": st.none() | DAYS,
    "java.time.LocalTime": st.none() | st.integers(0, 86_400 * 10**9 - 1),
    "java.time.Duration": st.none() | LONGS,
    "java.time.Year": st.none() | INTS,
    "java.time.YearMonth": st.none() | st.sampled_from(["2024-02", "-001-12", "12345-01"]),
    "java.time.MonthDay": st.none() | st.sampled_from(["--02-29", "--12-31"]),
    "java.time.Period": st.none() | st.sampled_from(["P0D", "P-1Y2M", "P3D"]),
    "java.time.ZoneOffset": st.none() | OFFSETS,
    "java.time.OffsetTime": st.none() | st.tuples(CLOCKS, OFFSETS).map("".join),
    "java.time.OffsetDateTime": st.none()
    | st.tuples(st.just("2024-02-29T"), CLOCKS, OFFSETS).map("".join),
    "java.util.OptionalLong": LONGS,
    "int[]": st.none() | st.lists(INTS),
    "byte[]": st.none() | st.binary(),
    "char[]": st.none() | st.lists(st.just("ß")),
    "java.lang.String[]": st.none() | st.lists(st.none() | TEXTS),
    "double[][]": st.none() | st.lists(st.none() | st.lists(st.floats(allow_nan=False))),
    "java.util.List<java.lang.Long>": st.none() | st.lists(st.none() | LONGS),
    "java.util.LinkedList<a.Part>": st.none()
    | st.lists(st.none() | st.fixed_dictionaries({"n": INTS})),
    "java.util.Set<java.lang.String>": st.none() | st.lists(TEXTS, unique=True),
    "java.util.Map<java.lang.String, a.Part>": st.none()
    | st.lists(
        st.tuples(TEXTS, st.none() | st.fixed_dictionaries({"n": INTS})),
        unique_by=lambda pair: pair[0],
    ),
    "a.Colour": st.none() | st.sampled_from(["RED", "GREEN"]),
    "java.lang.Object": st.none(),
}
PART = kryo_class("a.Part", {"n": "int"})
COLOUR = kryo_class("a.Colour", constants=["RED", "GREEN"])
ALL = kryo_class("a.All", {f"f{at}": name for at, name in enumerate(TYPES)})
ROWS = st.fixed_dictionaries({f"f{at}": values for at, values in enumerate(TYPES.values())})


def layout_of(version: str, *classes: KryoClass) -> Kryo:
    return Kryo(classes[0].class_name, classes=classes, version=version)


def read_again(layout: Kryo, data: pa.LargeBinaryArray) -> pa.Array:
    pieces = data.to_pylist()
    ends = np.cumsum([len(piece) for piece in pieces])
    starts = ends - [len(piece) for piece in pieces]
    chunk = Chunk(np.frombuffer(b"".join(pieces), np.uint8))
    return decode(program(layout, written_dialect(layout)), chunk, starts, ends)


@both
@settings(max_examples=examples(15), deadline=None)
@given(row=ROWS)
def test_any_object_of_a_described_class_is_read_as_it_was_written(
    version: str, row: dict[str, Any]
) -> None:
    encoder = Encoder(layout_of(version, ALL, PART, COLOUR))
    column = pa.array([row | {"$undecoded": None}], encoder.type)
    data = encoder.encode(column)
    assert read_again(layout_of(version, ALL, PART, COLOUR), data).equals(column)


@both
def test_what_was_not_decoded_is_copied(version: str) -> None:
    layout = layout_of(version, PART)
    encoder, row = Encoder(layout), {"n": 7, "$undecoded": None}
    (whole,) = encoder.encode(pa.array([row], encoder.type)).to_pylist()
    lost = read_again(layout, pa.array([whole + b"!", whole], pa.large_binary()))
    assert lost[0]["$undecoded"]["bytes"].as_py() == whole + b"!"
    assert encoder.encode(lost).to_pylist() == [whole + b"!", whole]


REFUSED: dict[str, tuple[str, Any, str]] = {
    "null of a primitive": ("int", None, "field 'f': null where a int is expected"),
    "an object of any class": ("java.lang.Object", '"x"', "only null can be written there"),
    "a sorted set": ("java.util.TreeSet<java.lang.Long>", [1], "a java.util.TreeSet, which is not"),
    "the same element twice": ("java.util.Set<java.lang.Long>", [1, 1], "two equal elements"),
    "null where none may be": ("java.util.ArrayDeque<java.lang.Long>", [None], "which takes none"),
    "a null value": (
        "java.util.concurrent.ConcurrentMap<java.lang.Long, java.lang.Long>",
        [(1, None)],
        "which takes none",
    ),
    "no constant": ("a.Colour", "BLUE", "field 'f': BLUE"),
    "no UUID": ("java.util.UUID", "{12345678-1234-5678-9234-000000000003}", "is no UUID"),
    "two characters": ("char", "ab", "is no character of Java"),
    "beyond the BMP": ("char", "𝄞", "is no character of Java"),
    "no day": ("java.time.OffsetDateTime", "2023-02-29T10:00:00Z", "no date 2023-2-29"),
    "an empty optional, or none": ("java.util.OptionalInt", None, "may be an empty"),
    "a digit that no BigInteger has": ("java.math.BigInteger", "1.5", "no whole number"),
    "no time of a zone": ("java.time.ZonedDateTime", "now", "is no ZonedDateTime"),
}


@both
@pytest.mark.parametrize("case", REFUSED)
def test_a_value_that_the_class_has_not_is_refused_with_its_row(version: str, case: str) -> None:
    type_name, value, message = REFUSED[case]
    encoder = Encoder(layout_of(version, kryo_class("a.One", {"f": type_name}), COLOUR))
    column = pa.array([None, {"f": value, "$undecoded": None}], encoder.type)
    with pytest.raises(UnencodableError, match=message) as caught:
        encoder.encode(column)
    assert caught.value.row == 1


def test_the_two_offsets_of_a_time_are_what_each_version_needs() -> None:
    zoned = kryo_class("a.One", {"f": "java.time.ZonedDateTime"})
    texts = {
        "2.24": ("2024-10-27T02:30:00[Europe/Berlin]", "without its offset"),
        "5.6": ("2024-10-27T02:30:00+01:00[Europe/Berlin]", "second of its two offsets"),
    }
    for version, (text, message) in texts.items():
        encoder = Encoder(layout_of(version, zoned))
        with pytest.raises(UnencodableError, match=message):
            encoder.encode(pa.array([{"f": text, "$undecoded": None}], encoder.type))


@both
def test_an_enum_needs_a_constant(version: str) -> None:
    encoder = Encoder(layout_of(version, COLOUR))
    with pytest.raises(UnencodableError, match="null where a constant is expected"):
        encoder.encode(pa.array([{"constant": None, "$undecoded": None}], encoder.type))


def test_nothing_is_written_for_a_kryo_that_nobody_knows() -> None:
    encoder = Encoder(Kryo("java.util.UUID"))
    column = pa.array(["12345678-1234-5678-9234-000000000003"])
    with pytest.raises(UnencodableError, match="whose version is not known"):
        encoder.encode(column)
