"""Headers of state files: real ones, unknown serializers in them, and damage."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from support.each import each

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import FormatError, SavepointError, UnsupportedVersionError
from savepoint_formats.layout import (
    Layout,
    Long,
    MapOf,
    Nullable,
    Opaque,
    Struct,
    Text,
    VoidNamespace,
)
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import CheckpointMetadata
from savepoint_formats.state_files.header import (
    KEYED_STATE_TYPE,
    NAMESPACE_SERIALIZER,
    VALUE_SERIALIZER,
    BackendStateType,
    HeaderBytes,
    KeyedBackendHeader,
    OperatorBackendHeader,
)
from savepoint_formats.tables.catalog import base_handles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Header = KeyedBackendHeader | OperatorBackendHeader

BASE = "org.apache.flink.api.common.typeutils.base."
UNKNOWN, OTHER = "com.acme.MoneySerializer$Snapshot", "com.acme.Other"


def utf(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()


def i32(number: int) -> bytes:
    return number.to_bytes(4, "big")


def snapshot(class_name: str, body: bytes = b"", version: int = 3) -> bytes:
    return utf(class_name) + i32(version) + body


def map_of(key: bytes, value: bytes) -> bytes:
    body = bytes.fromhex("000de704 00000001 001457fd 00000001 00000002") + key + value
    return snapshot(f"{BASE}MapSerializerSnapshot", body)


LONG = snapshot(f"{BASE}LongSerializer$LongSerializerSnapshot")
STRING = snapshot(f"{BASE}StringSerializer$StringSerializerSnapshot")
VOID = snapshot(
    "org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot"
)
TUPLE = snapshot(
    "org.apache.flink.api.java.typeutils.runtime.TupleSerializerSnapshot",
    bytes.fromhex("000de704 00000002")
    + utf("org.apache.flink.api.java.tuple.Tuple1")
    + bytes.fromhex("001457fd 00000001 00000001")
    + LONG,
)


def state(name: str, value: bytes, namespace: bytes = VOID) -> bytes:
    return (
        utf(name)
        + bytes.fromhex("00000000 00000001 0010")
        + b"KEYED_STATE_TYPE\0\5VALUE"
        + bytes.fromhex("00000002 0010")
        + b"VALUE_SERIALIZER\0\0\0\2"
        + value
        + b"\0\x14NAMESPACE_SERIALIZER\0\0\0\2"
        + namespace
    )


def keyed(key: bytes, *states: bytes) -> bytes:
    return (
        bytes.fromhex("00000006 00 00000002")
        + key
        + len(states).to_bytes(2, "big")
        + b"".join(states)
    )


# The first 505 bytes of a file of a savepoint that Flink 1.20 wrote.
GOLDEN = keyed(TUPLE, state("state-name", LONG))
# The first 188 bytes of a file of operator state from the same savepoint.
GOLDEN_OPERATOR = (
    bytes.fromhex("00000006 00 0001 000c")
    + b"source-state"
    + bytes.fromhex("00000001 00000001 0020")
    + b"OPERATOR_STATE_DISTRIBUTION_MODE\0\5UNION"
    + bytes.fromhex("00000001 0010")
    + b"VALUE_SERIALIZER\0\0\0\2"
    + STRING
    + bytes(2)
)
BODIES = {
    "empty": b"",
    "zeros": bytes(200),
    "random": random.Random(3).randbytes(200),
    "text": utf("a class name") * 9,
    "names and numbers": (utf("com.acme.Part") + i32(1)) * 9,
    "a state's name": utf("state") + i32(0),
    "a count of states": bytes.fromhex("0001"),
    "known snapshots": b"\1" + LONG + STRING,
}


def parse(data: bytes) -> KeyedBackendHeader:
    """The header, which is rewritten byte for byte."""
    found = KeyedBackendHeader.parse(HeaderBytes(data, "file"))
    assert written(found) == data
    return found


def written(header: Header) -> bytes:
    view = DataOutputView()
    header.write(view)
    return view.to_bytes()


def layouts(header: KeyedBackendHeader, role: str = VALUE_SERIALIZER) -> list[Layout | None]:
    found = (info.serializer(role) for info in header.states)
    return [None if snapshot is None else snapshot.layout() for snapshot in found]


def opaque(class_name: str = UNKNOWN) -> Opaque:
    return Opaque(class_name, "its class is not known")


def test_reads_the_keyed_header_that_flink_wrote() -> None:
    assert len(GOLDEN) == 505
    header = parse(GOLDEN)
    assert not header.is_compressed
    assert header.key_serializer.layout() == Struct(("f0",), (Long(),))
    (info,) = header.states
    assert (info.name, info.type) == ("state-name", BackendStateType.KEY_VALUE)
    assert info.option(KEYED_STATE_TYPE) == "VALUE"
    assert layouts(header) == [Long()]
    assert layouts(header, NAMESPACE_SERIALIZER) == [VoidNamespace()]


def test_reads_the_operator_header_that_flink_wrote() -> None:
    assert len(GOLDEN_OPERATOR) == 188
    header = OperatorBackendHeader.parse(HeaderBytes(GOLDEN_OPERATOR, "file"))
    assert written(header) == GOLDEN_OPERATOR
    (info,) = header.list_states
    assert info.name == "source-state"
    assert header.broadcast_states == ()


def test_version_5_of_operator_state_has_no_compression() -> None:
    data = bytes.fromhex("00000005") + GOLDEN_OPERATOR[5:]
    header = OperatorBackendHeader.parse(HeaderBytes(data, "file"))
    assert not header.is_compressed
    assert written(header) == data


def headers_below(folder: Path) -> Iterator[tuple[str, HeaderBytes, type[Header]]]:
    """The header of every state file of every snapshot."""
    for path in sorted(folder.rglob("_metadata")):
        directory = SnapshotDirectory.of(str(path.parent))
        metadata = CheckpointMetadata.read(DataInputView(directory.read_metadata(), str(path)))
        for operator in metadata.operators:
            for subtask in operator.subtasks:
                name = f"{path.parent} {operator.operator_id} {subtask.index}"
                for handle in base_handles(subtask.managed_keyed_state):
                    yield name, HeaderBytes.of_keyed_state(directory, handle), KeyedBackendHeader
                operator_state = subtask.managed_operator_state
                if operator_state is not None and operator_state.states:
                    header = HeaderBytes.of_operator_state(directory, operator_state)
                    yield name, header, OperatorBackendHeader


def rewritten_wrongly(folder: Path) -> tuple[int, list[str]]:
    """How many headers there are, and which are not rewritten byte for byte."""
    headers = list(headers_below(folder))
    wrong = [name for name, header, kind in headers if written(kind.parse(header)) != header.data]
    return len(headers), wrong


def test_every_header_of_the_samples_is_rewritten_byte_for_byte(samples: Path) -> None:
    count, wrong = rewritten_wrongly(samples)
    assert count > 200
    assert wrong == []


def test_every_header_of_the_corpus_is_rewritten_byte_for_byte(corpus: Path) -> None:
    for part in ("savepoints", "sql"):
        count, wrong = rewritten_wrongly(corpus / part)
        assert count > 50
        assert wrong == []


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_an_unknown_key_serializer_is_read_around(body: bytes) -> None:
    header = parse(keyed(snapshot(UNKNOWN, body), state("a", LONG), state("b", STRING)))
    assert header.key_serializer.layout() == opaque()
    assert layouts(header) == [Long(), Text()]


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_an_unknown_value_serializer_is_read_around(body: bytes) -> None:
    states = state("a", LONG), state("b", snapshot(UNKNOWN, body)), state("c", STRING)
    header = parse(keyed(TUPLE, *states))
    assert layouts(header) == [Long(), opaque(), Text()]
    assert layouts(header, NAMESPACE_SERIALIZER) == [VoidNamespace()] * 3


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_an_unknown_last_serializer_is_read_around(body: bytes) -> None:
    header = parse(keyed(TUPLE, state("a", LONG), state("b", STRING, snapshot(UNKNOWN, body))))
    assert layouts(header) == [Long(), Text()]
    assert layouts(header, NAMESPACE_SERIALIZER) == [VoidNamespace(), opaque()]


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_unknown_nested_serializers_are_read_around(body: bytes) -> None:
    unknown = snapshot(UNKNOWN, body)
    first, last = map_of(unknown, LONG), map_of(STRING, unknown)
    header = parse(keyed(TUPLE, state("a", first), state("b", LONG), state("c", last)))
    assert layouts(header)[1:] == [Long(), MapOf(Text(), Nullable(opaque()))]
    if body == BODIES["known snapshots"]:
        # Which of the snapshots is whose, nobody can tell; the key hides all behind it anyway.
        found = layouts(header)[0]
        assert isinstance(found, MapOf)
        assert found.key == opaque()
    else:
        assert layouts(header)[0] == MapOf(opaque(), Nullable(Long()))


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("other", BODIES.values(), ids=BODIES)
def test_unknown_serializers_of_two_classes_are_told_apart(body: bytes, other: bytes) -> None:
    header = parse(
        keyed(
            snapshot(UNKNOWN, body),
            state("a", LONG),
            state("b", snapshot(OTHER, other)),
            state("c", snapshot(UNKNOWN, body)),
            state("d", STRING),
        )
    )
    assert layouts(header) == [Long(), opaque(OTHER), opaque(), Text()]


def test_an_unknown_serializer_never_swallows_states() -> None:
    # Behind a snapshot of version 3 the bytes 00 03 are a count of the three states that follow.
    states = [state(f"state-{index}", LONG) for index in range(6)]
    header = parse(keyed(snapshot(UNKNOWN, b"body"), *states))
    assert len(header.states) == 6
    damaged = keyed(snapshot(UNKNOWN, b"body"), *states)[:-1]
    with pytest.raises(FormatError):
        parse(damaged)
    # The entry of the first value serializer is of a version that nobody knows.
    unreadable = states[0].replace(b"VALUE_SERIALIZER\0\0\0\2", b"VALUE_SERIALIZER\0\0\0\3")
    with pytest.raises(FormatError):
        parse(keyed(snapshot(UNKNOWN, b"body"), unreadable, *states[1:]))


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_an_unknown_serializer_of_operator_state_is_read_around(body: bytes) -> None:
    data = GOLDEN_OPERATOR.replace(STRING, snapshot(UNKNOWN, body))
    header = OperatorBackendHeader.parse(HeaderBytes(data, "file"))
    assert written(header) == data
    found = header.list_states[0].serializer(VALUE_SERIALIZER)
    assert found is not None
    assert found.layout() == opaque()


@pytest.mark.parametrize("body", [bytes(5_000), random.Random(4).randbytes(5_000)])
def test_an_unknown_body_of_five_kilobytes_hides_no_state(body: bytes) -> None:
    states = [state(f"state-{index}", map_of(LONG, STRING)) for index in range(100)]
    states[99] = state("last", map_of(snapshot(UNKNOWN, body), LONG))
    header = parse(keyed(TUPLE, *states))
    assert [one.name for one in header.states] == [
        *(f"state-{index}" for index in range(99)),
        "last",
    ]
    assert written(header) == keyed(TUPLE, *states)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (bytes.fromhex("00000005") + GOLDEN[4:], "keyed state of version 5, expected 6"),
        (GOLDEN[:4] + b"\2" + GOLDEN[5:], "boolean of 2"),
        (GOLDEN.replace(b"\0\0\0\0\0\0\0\1\0\x10", b"\0\0\0\5\0\0\0\1\0\x10"), "of type 5"),
        (GOLDEN.replace(b"\0\0\0\0\0\0\0\1\0\x10", b"\0\0\0\1\0\0\0\1\0\x10"), "is OPERATOR"),
        (GOLDEN + b"\0", "1 bytes too many"),
    ],
)
def test_what_flink_never_writes_is_an_error_that_says_so(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        parse(data)


def test_an_old_version_is_an_error_of_its_own() -> None:
    with pytest.raises(UnsupportedVersionError):
        OperatorBackendHeader.parse(HeaderBytes(bytes.fromhex("00000003") + bytes(9), "file"))


def test_a_new_role_or_option_is_no_error() -> None:
    data = GOLDEN.replace(b"\0\x10KEYED_STATE_TYPE", b"\0\x0aNEW_OPTION")
    assert parse(data).states[0].option("NEW_OPTION") == "VALUE"


@each("cut", range(0, len(GOLDEN), 3))
def test_every_cut_of_a_keyed_header_is_noticed(cut: int) -> None:
    with pytest.raises(FormatError):
        KeyedBackendHeader.parse(HeaderBytes(GOLDEN[:cut], "file"))


@each("cut", range(len(GOLDEN_OPERATOR)))
def test_every_cut_of_an_operator_header_is_noticed(cut: int) -> None:
    with pytest.raises(FormatError):
        OperatorBackendHeader.parse(HeaderBytes(GOLDEN_OPERATOR[:cut], "file"))


@pytest.mark.parametrize("data", [GOLDEN, keyed(map_of(LONG, STRING), state("a", TUPLE))])
def test_no_flipped_byte_of_a_keyed_header_is_more_than_a_typed_error(data: bytes) -> None:
    for damaged in flipped(data):
        with suppress(SavepointError):
            layouts(KeyedBackendHeader.parse(HeaderBytes(damaged, "file")))


def test_no_flipped_byte_of_an_operator_header_is_more_than_a_typed_error() -> None:
    for damaged in flipped(GOLDEN_OPERATOR):
        with suppress(SavepointError):
            OperatorBackendHeader.parse(HeaderBytes(damaged, "file"))


def flipped(data: bytes) -> Iterator[bytes]:
    for position in range(len(data)):
        for mask in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[position] ^= mask
            yield bytes(damaged)
