"""Readers of what connectors keep in lists of bytes: Kafka, splits of sources, committables of sinks."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from support import kafka_states
from support.cdc_sources import begun, enumerator, snapshot, stream
from support.table_sinks import COMMITTABLES

from fuzz.promises import BrokenPromiseError
from fuzz.target import Seed, Target
from savepoint_extensions.connectors.kafka.kafka_source import KafkaEnumerator, KafkaSplit
from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.renewal.producer_state import (
    FlushedTransaction,
    ProducerHandle,
    ProducerState,
)
from savepoint_extensions.connectors.sinks.committer_state import CommitterState
from savepoint_extensions.connectors.sinks.connectors import read_committable, read_writer
from savepoint_extensions.connectors.source_splits import cdc_changes
from savepoint_extensions.connectors.source_splits.cdc_changes import CdcSource
from savepoint_extensions.connectors.source_splits.cdc_enumerator import CdcEnumerator
from savepoint_extensions.connectors.source_splits.cdc_splits import (
    CdcForm,
    read_cdc_split,
    split_bytes,
)
from savepoint_extensions.connectors.source_splits.file_splits import FileEnumerator, FileSplit
from savepoint_extensions.connectors.source_splits.shard_splits import (
    KinesisEnumerator,
    KinesisSplit,
)
from savepoint_extensions.connectors.source_splits.split_connectors import (
    connector_of,
    read_enumerator,
)
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fuzz.samples import Inputs

_PATH = "an element"
_HANDLE = ProducerHandle("results-1", 4, 2)
_PRODUCER = ProducerState(_HANDLE, 17, (FlushedTransaction(_HANDLE, 16),), ("results-1",))
_MOVES = (100, "LATEST", {"type": "TRIM_HORIZON"}, {"offset": 5, "records": 1})
_POSITION = '{"file":"mysql-bin.000009","pos":"4","lsn":"9"}'
FORMS = tuple(CdcForm(False, version) for version in (2, 3, 4)) + tuple(
    CdcForm(True, version) for version in range(2, 7)
)


def _writer_facts(element: bytes, path: str) -> object:
    return read_writer(Versioned.whole(element, path), path)


def _committable(element: bytes, path: str) -> object:
    return read_committable(Versioned.whole(element, path), path)


def _commits(element: bytes, path: str) -> CommitterState:
    state = CommitterState.of(element, path)
    if CommitterState.of(state.to_bytes(), path) != state:
        raise BrokenPromiseError("a committer's state is another one once it was written")
    for commit in state.commits():
        read_committable(commit.committable, path)
    return state


def _producer(element: bytes, path: str) -> ProducerState:
    state = ProducerState.whole(element, path)
    if ProducerState.whole(state.without(()).to_bytes(), path) != state:
        raise BrokenPromiseError("a producer's state is another one once it was written")
    return state


def kafka(_: Inputs) -> Target:
    """Values that Kafka's connector keeps in lists of bytes, and committables of all sinks."""
    readers: dict[Any, tuple[bytes, ...]] = {
        KafkaSplit.of: (
            kafka_states.SPLIT,
            kafka_states.BOUNDED_SPLIT,
            kafka_states.EARLIEST_SPLIT,
        ),
        KafkaEnumerator.of: (kafka_states.coordinator(kafka_states.ENUMERATOR),),
        _writer_facts: tuple(kafka_states.WRITERS.values()),
        _commits: tuple(kafka_states.COLLECTORS.values()),
        _producer: (_PRODUCER.to_bytes(), ProducerState(None, 0, (), None).to_bytes()),
        _committable: (*COMMITTABLES.values(), *_files()),
    }
    seeds = [Seed(data, reader) for reader, all_data in readers.items() for data in all_data]
    return Target("kafka", seeds, lambda data, reader: reader(data, _PATH))


def _files() -> Iterator[bytes]:
    """Committables of file sinks: a file that is to be finished, in both versions."""
    target, temporary = b"/d/t", b"/d/.t"
    local = b"".join(
        number.to_bytes(size, "little")
        for number, size in ((510937943, 4), (5, 8), (len(target), 4), (len(temporary), 4))
    )
    pending = Versioned(1, local + target + temporary).to_bytes()
    yield Versioned(
        1, _int(511073408) + b"\1" + Versioned(1, _int(746929289) + pending).to_bytes() + b"\0"
    ).to_bytes()
    view = DataOutputView()
    view.write_utf("file:/d/t")
    told = _int(746929289) + b"\1" + view.to_bytes() + (5).to_bytes(8, "big") + pending
    bucket = _int(511073408) + b"\0\1b\1" + Versioned(2, told).to_bytes() + b"\0\0"
    yield Versioned(2, bucket).to_bytes()


def _int(number: int) -> bytes:
    return number.to_bytes(4, "big")


def splits(_: Inputs) -> Target:
    """Splits of every connector, moved where that is possible, and states of their enumerators."""
    elements = [
        kafka_states.SPLIT,
        *(
            Versioned(form.version, split_bytes(split, form)).to_bytes()
            for form in FORMS
            for split in (
                snapshot("orders", 1, form, None),
                snapshot("orders", 1, form, 5),
                stream(form, 30, {"orders": [10, 20]}, "factory"),
            )
        ),
        *(_kinesis(version) for version in range(3)),
        *(_pulsar(version) for version in range(2)),
        _file_split(),
    ]
    seeds = [Seed(data, _split) for data in elements]
    states = (*map(_enumerator_state, FORMS), *_enumerators())
    seeds += [Seed(state, _enumerator) for state in states]
    return Target("splits", seeds, lambda data, reader: reader(data))


def _split(data: bytes) -> object:
    versioned = Versioned.whole(data, _PATH)
    connector, facts = connector_of(versioned, _PATH)
    if connector is not None and connector.move is not None:
        for position in _MOVES:
            with suppress(RefusedError, ValueError):
                connector_of(connector.move(versioned, position, _PATH), _PATH)
    if facts.connector.endswith("cdc"):
        form, split = read_cdc_split(versioned, _PATH)
        written = Versioned(form.version, split_bytes(split, form))
        if read_cdc_split(written, _PATH) != (form, split):
            raise BrokenPromiseError("a split is another one once it was written")
        _changed(CdcSource(((form, split),), None))
    return facts


def _enumerator(data: bytes) -> object:
    versioned = Versioned.whole(data, _PATH)
    _, facts = read_enumerator(versioned, _PATH, None)
    if not facts:
        return facts
    for kind, name in ((KinesisEnumerator, "kinesis"), (FileEnumerator, "file")):
        if facts[0].connector == name:
            state = kind.of(versioned, _PATH)
            if kind.of(state.to_versioned(), _PATH) != state:
                raise BrokenPromiseError("an enumerator is another one once it was written")
    if facts[0].connector.endswith("cdc"):
        read = CdcEnumerator.of_either(versioned, _PATH)
        if CdcEnumerator.of_either(read.to_versioned(), _PATH) != read:
            raise BrokenPromiseError("an enumerator is another one once it was written")
        _changed(CdcSource((), read))
    return facts


def _changed(source: CdcSource) -> None:
    """Makes every change of a source; each either works or is refused."""
    changes: tuple[Callable[[CdcSource], CdcSource], ...] = (
        lambda source: cdc_changes.moved(source, _POSITION),
        lambda source: cdc_changes.without_table(source, "shop.orders"),
        lambda source: cdc_changes.with_table(source, "shop.more"),
        cdc_changes.released,
        lambda source: cdc_changes.streaming(source, _POSITION),
    )
    for change in changes:
        with suppress(RefusedError):
            change(source)


def _enumerator_state(form: CdcForm) -> bytes:
    version = form.version + 1
    known = (
        begun(version, form)
        if form.version % 2
        else enumerator(version, form, {"orders": [10, 20]})
    )
    return known.to_versioned().to_bytes()


def _enumerators() -> Iterator[bytes]:
    """States of enumerators that have no change data capture."""
    split = KinesisSplit.of_version_1("arn", "shardId-1", ("shardId-0",), ("0", "9"))
    yield KinesisEnumerator(1, "shardId-1", ((split, True),), 1).to_versioned().to_bytes()
    yield KinesisEnumerator(0, None, ((split, False),), 1).to_versioned().to_bytes()
    file = FileSplit.of_file("0000000001", "hdfs://node:8020/a b", 5, 7)
    yield FileEnumerator((file,), ("hdfs://node:8020/c",)).to_versioned().to_bytes()
    for version in range(1, 4):
        of_pulsar = Versioned.whole(_pulsar(min(version - 1, 1)), _PATH).data
        end = of_pulsar.index(b"\0\0\0\2ab")
        yield Versioned(version, _int(1) + of_pulsar[:end]).to_bytes()


def _kinesis(version: int) -> bytes:
    view = DataOutputView()
    for text in ("arn:aws:kinesis:eu:1:stream/orders", "shardId-1", "AT_SEQUENCE_NUMBER"):
        view.write_utf(text)
    view.write_bytes(b"\1\0\1")
    view.write_utf("4711")
    if version:
        view.write_int(1)
        for text in ("shardId-0", "-1", "0"):
            view.write_utf(text)
    if version == 2:
        view.write_bool(True)
    return Versioned(version, view.to_bytes()).to_bytes()


def _pulsar(version: int) -> bytes:
    view = DataOutputView()
    view.write_utf("persistent://a/b/orders")
    view.write_bytes(_int(3) + (_int(1) if version else b""))
    view.write_longs([0xFFFF])
    view.write_bytes((_int(1) if version else b"") + b"\0\0\0\2ab\1" + _int(2) + b"id\1")
    view.write_longs([1, 2])
    return Versioned(version, view.to_bytes()).to_bytes()


def _file_split() -> bytes:
    view = DataOutputView()
    view.write_utf("0000000001")
    view.write_bytes(b"\1\1")
    view.write_string_value("hdfs")
    view.write_bytes(b"\0\1")
    view.write_string_value("node")
    view.write_bytes(_int(8020) + b"\1")
    view.write_string_value("/a b/orders.csv")
    view.write_bytes(b"\0\0")
    view.write_longs([100, 50, 17, 200])
    view.write_int(1)
    view.write_utf("localhost")
    view.write_bytes(b"\1")
    view.write_longs([120, 3])
    return Versioned(1, view.to_bytes()).to_bytes()
