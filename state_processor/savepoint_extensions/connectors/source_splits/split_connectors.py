"""Connectors whose splits are known.

A row of ``CONNECTORS`` adds a connector, and so does a plug-in. No state names its connector, so an
element belongs to the first connector that reads all of its bytes.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from savepoint_extensions.connectors.connector_rows import Facts, SourceConnector, SplitFacts
from savepoint_extensions.connectors.kafka.kafka_source import (
    NO_STOPPING_OFFSET,
    STARTS,
    KafkaEnumerator,
    KafkaSplit,
)
from savepoint_extensions.connectors.plug_in_connectors import PlugInFailedError, of_plug_ins
from savepoint_extensions.connectors.source_splits.cdc_enumerator import CdcEnumerator
from savepoint_extensions.connectors.source_splits.cdc_positions import dialect_of
from savepoint_extensions.connectors.source_splits.cdc_splits import (
    CdcForm,
    SnapshotSplit,
    plain_table,
    read_cdc_split,
)
from savepoint_extensions.connectors.source_splits.file_splits import FileEnumerator, FileSplit
from savepoint_extensions.connectors.source_splits.shard_splits import (
    KinesisEnumerator,
    KinesisSplit,
    PulsarSplit,
    pulsar_partitions,
)
from savepoint_extensions.connectors.source_splits.wrapped_splits import (
    HybridEnumerator,
    HybridSplit,
    NumbersSplit,
)
from savepoint_formats.errors import FormatError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_extensions.connectors.kafka.versioned import Versioned

KAFKA, CDC, UNKNOWN = "kafka", "cdc", "unknown"


def kafka_facts(split: KafkaSplit) -> SplitFacts:
    """Facts of a split of Kafka."""
    position: dict[str, int | str] = {"offset": STARTS.get(split.offset, split.offset)}
    if split.stopping_offset != NO_STOPPING_OFFSET:
        position["stopping_offset"] = split.stopping_offset
    name = f"{split.topic}-{split.partition}"
    return SplitFacts(KAFKA, name, "partition", json.dumps(position), split.topic)


def _kafka_enumerator(versioned: Versioned, path: str) -> Iterator[SplitFacts]:
    for known in KafkaEnumerator.of_versioned(versioned, path).partitions:
        state, name = known.status.name.lower(), f"{known.topic}-{known.partition}"
        yield SplitFacts(KAFKA, name, "partition", "", known.topic, state)


def _kafka_without(
    versioned: Versioned, is_gone: Callable[[SplitFacts], bool], path: str
) -> Versioned:
    enumerator = KafkaEnumerator.of_versioned(versioned, path)
    _expect_exact(enumerator.to_versioned(), versioned, KAFKA)
    entries = zip(enumerator.partitions, _kafka_enumerator(versioned, path), strict=True)
    rest = tuple(known for known, facts in entries if not is_gone(facts))
    return replace(enumerator, partitions=rest).to_versioned()


def _expect_exact(written: Versioned, read: Versioned, connector: str) -> None:
    """Raises ``RefusedError`` if the state of an enumerator has something that would be lost."""
    if written != read:
        raise RefusedError(
            f"the enumerator of {connector} has something that can't be written again as it is"
        )


def _move_kafka(versioned: Versioned, position: Any, path: str) -> Versioned:
    split, values = KafkaSplit.of_versioned(versioned, path), _object(position, "offset")
    if unknown := sorted(set(values) - {"offset", "stopping_offset"}):
        raise RefusedError(f"a split of kafka has no {', '.join(unknown)}")
    return split.at(values["offset"], values.get("stopping_offset")).to_versioned()


def _object(position: Any, name: str) -> dict[str, Any]:
    """The JSON object; a bare value is that of ``name``."""
    values = position if isinstance(position, dict) else {name: position}
    if name not in values:
        raise RefusedError(f"{json.dumps(position)} has no {name}")
    return values


def _long(value: Any) -> int:
    """Raises ``RefusedError`` unless the value is a number of 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int) or not -(1 << 63) <= value < 1 << 63:
        raise RefusedError(f"{json.dumps(value)}, expected a whole number of 64 bits")
    return value


def _cdc_name(form: CdcForm, *positions: str | None) -> str:
    written = next(filter(None, positions), None)
    dialect = dialect_of(written, is_base=form.is_base)
    return CDC if dialect is None else dialect.name


def _cdc_split(versioned: Versioned, path: str) -> SplitFacts:
    form, split = read_cdc_split(versioned, path)
    if isinstance(split, SnapshotSplit):
        return _snapshot(form, split, split.watermark, "finished" if split.watermark else "reading")
    facts: dict[str, str | int] = {
        "finished splits": f"{len(split.finished)} of {split.total}",
        "tables": len({schema.table for schema in split.schemas}),
    }
    name = _cdc_name(form, split.start, split.end)
    state = "suspended" if split.is_suspended else "reading"
    return SplitFacts(name, split.split, "stream", split.start or "", "", state, facts)


def _snapshot(form: CdcForm, split: SnapshotSplit, position: str | None, state: str) -> SplitFacts:
    name, table = _cdc_name(form, position), plain_table(split.table)
    return SplitFacts(name, split.split, "snapshot", position or "", table, state)


def _cdc_enumerator(versioned: Versioned, path: str) -> Iterator[SplitFacts]:
    enumerator = CdcEnumerator.of_either(versioned, path)
    form, snapshots = enumerator.form, enumerator.snapshots
    streamed: dict[str, str | int] = {}
    if enumerator.is_streamed is not None:
        streamed["a reader has the stream"] = "yes" if enumerator.is_streamed else "no"
    if snapshots is None:
        yield SplitFacts(_cdc_name(form), "", "enumerator", state="stream", facts=streamed)
        return
    watermarks = dict(snapshots.finished)
    name = _cdc_name(form, *watermarks.values())
    state = snapshots.status.name.lower()
    yield SplitFacts(name, "", "enumerator", state=state, facts=streamed)
    for tables, state in ((snapshots.processed, "divided"), (snapshots.waiting, "waiting")):
        for table in tables:
            yield SplitFacts(name, "", "table", "", plain_table(table.name), state)
    for split in snapshots.remaining:
        yield _snapshot(form, split, None, "waiting")
    for known, split in snapshots.assigned:
        state = "finished" if known in watermarks else "assigned"
        yield _snapshot(form, split, watermarks.get(known), state)


def _file(versioned: Versioned, path: str) -> SplitFacts:
    return file_facts(FileSplit.of(versioned, path), "reading")


def file_facts(split: FileSplit, state: str) -> SplitFacts:
    """Facts of a split of a file."""
    position = ""
    if split.position is not None:
        position = json.dumps({"offset": split.position[0], "records": split.position[1]})
    facts: dict[str, str | int] = {"path": split.path, "from": split.offset, "length": split.length}
    return SplitFacts("file", split.split, "file", position, "", state, facts)


def _file_enumerator(versioned: Versioned, path: str) -> Iterator[SplitFacts]:
    enumerator = FileEnumerator.of(versioned, path)
    for split in enumerator.splits:
        yield file_facts(split, "waiting")
    for processed in enumerator.processed:
        yield _processed_facts(processed)


def _file_without(
    versioned: Versioned, is_gone: Callable[[SplitFacts], bool], path: str
) -> Versioned:
    enumerator = FileEnumerator.of(versioned, path)
    _expect_exact(enumerator.to_versioned(), versioned, "file")
    splits = tuple(it for it in enumerator.splits if not is_gone(file_facts(it, "waiting")))
    processed = tuple(it for it in enumerator.processed if not is_gone(_processed_facts(it)))
    return FileEnumerator(splits, processed).to_versioned()


def _processed_facts(path: str) -> SplitFacts:
    return SplitFacts("file", path, "file", state="processed")


def _move_file(versioned: Versioned, position: Any, path: str) -> Versioned:
    split, values = FileSplit.of(versioned, path), _object(position, "offset")
    offset, records = _long(values["offset"]), _long(values.get("records", 0))
    if unknown := sorted(set(values) - {"offset", "records"}):
        raise RefusedError(f"a split of a file has no {', '.join(unknown)}")
    if records < 0 or not (offset == -1 or split.offset <= offset <= split.offset + split.length):
        end = split.offset + split.length
        raise RefusedError(
            f"{values}: {split.path} has offsets {split.offset} to {end} here, or -1"
        )
    return split.at(offset, records).to_versioned()


def kinesis_facts(split: KinesisSplit, state: str = "reading") -> SplitFacts:
    """Facts of a split of Kinesis."""
    state = "finished" if split.is_finished else state
    position = json.dumps(split.position()) if state != "assigned" else ""
    return SplitFacts("kinesis", split.shard, "shard", position, split.stream, state)


def _kinesis_enumerator(versioned: Versioned, path: str) -> Iterator[SplitFacts]:
    enumerator = KinesisEnumerator.of(versioned, path)
    facts: Facts = {"last seen": enumerator.last_seen} if enumerator.last_seen else {}
    yield SplitFacts("kinesis", "", "enumerator", state="", facts=facts)
    for split, is_assigned in enumerator.splits:
        yield kinesis_facts(split, "assigned" if is_assigned else "waiting")


def _move_kinesis(versioned: Versioned, position: Any, path: str) -> Versioned:
    values = _object(position, "type")
    if "timestamp" in values:
        values = {**values, "timestamp": _long(values["timestamp"])}
    return KinesisSplit.of(versioned, path).at(values).to_versioned()


def _pulsar(versioned: Versioned, path: str) -> SplitFacts:
    split = PulsarSplit.of(versioned, path)
    position = "" if split.consumed is None else json.dumps({"consumed": split.consumed})
    facts: dict[str, str | int] = {"open transaction": "yes"} if split.has_open_transaction else {}
    name = f"{split.topic}-{split.partition}"
    return SplitFacts("pulsar", name, "partition", position, split.topic, facts=facts)


def _pulsar_enumerator(versioned: Versioned, path: str) -> Iterator[SplitFacts]:
    for topic, partition in pulsar_partitions(versioned, path):
        yield SplitFacts("pulsar", f"{topic}-{partition}", "partition", "", topic, "assigned")


def _numbers_facts(split: NumbersSplit, state: str) -> SplitFacts:
    position = json.dumps({"next": split.first})
    state = "finished" if split.first > split.last else state
    return SplitFacts("numbers", split.split, "range", position, "", state, {"last": split.last})


def _numbers_enumerator(versioned: Versioned, path: str) -> Iterator[SplitFacts]:
    for split in NumbersSplit.all_of(versioned, path):
        yield _numbers_facts(split, "waiting")


def _move_numbers(versioned: Versioned, position: Any, path: str) -> Versioned:
    split, values = NumbersSplit.of(versioned, path), _object(position, "next")
    first = _long(values["next"])
    if set(values) != {"next"} or not first <= split.last + 1:
        raise RefusedError(f"{json.dumps(position)}: expected next, up to {split.last + 1}")
    return replace(split, first=first).to_versioned()


def _of_hybrid(facts: SplitFacts, source: int) -> SplitFacts:
    inner: dict[str, str | int] = {"source": source, "connector": facts.connector}
    return replace(facts, connector="hybrid", facts=inner | facts.facts)


def _hybrid(versioned: Versioned, path: str) -> SplitFacts:
    split = HybridSplit.of(versioned, path)
    _, facts = connector_of(split.inner, path)
    return replace(_of_hybrid(facts, split.source), split=split.split)


def _hybrid_enumerator(versioned: Versioned, path: str) -> Iterator[SplitFacts]:
    state = HybridEnumerator.of(versioned, path)
    facts: dict[str, str | int] = {"source": state.source}
    connector, inner = read_enumerator(state.inner, path, None)
    if connector is None:
        facts["reason"] = f"version {state.inner.version}, of an unknown enumerator"
    yield SplitFacts("hybrid", "", "enumerator", state="", facts=facts)
    yield from (_of_hybrid(known, state.source) for known in inner)


def _move_hybrid(versioned: Versioned, position: Any, path: str) -> Versioned:
    split = HybridSplit.of(versioned, path)
    connector, _ = connector_of(split.inner, path)
    if connector is None or connector.move is None:
        name = UNKNOWN if connector is None else connector.name
        raise RefusedError(f"positions of {name} can't be set")
    return split.with_inner(connector.move(split.inner, position, path))


CONNECTORS = (
    SourceConnector(
        KAFKA,
        lambda versioned, path: kafka_facts(KafkaSplit.of_versioned(versioned, path)),
        _kafka_enumerator,
        _move_kafka,
        _kafka_without,
    ),
    SourceConnector(CDC, _cdc_split, _cdc_enumerator),
    SourceConnector("file", _file, _file_enumerator, _move_file, _file_without),
    SourceConnector(
        "kinesis",
        lambda versioned, path: kinesis_facts(KinesisSplit.of(versioned, path)),
        _kinesis_enumerator,
        _move_kinesis,
    ),
    SourceConnector("pulsar", _pulsar, _pulsar_enumerator),
    SourceConnector(
        "numbers",
        lambda versioned, path: _numbers_facts(NumbersSplit.of(versioned, path), "reading"),
        _numbers_enumerator,
        _move_numbers,
    ),
    SourceConnector("hybrid", _hybrid, _hybrid_enumerator, _move_hybrid),
)


def connector_of(versioned: Versioned, path: str) -> tuple[SourceConnector | None, SplitFacts]:
    """The connector of a split, and its facts; for an unknown one the reason why there are none."""
    failures: list[str] = []
    for known in chain(CONNECTORS, of_plug_ins(SourceConnector, CONNECTORS)):
        try:
            return known, known.split(versioned, path)
        except PlugInFailedError as error:
            failures.append(error.message)
        except FormatError:
            continue
    names = ", ".join(
        known.name for known in (*CONNECTORS, *of_plug_ins(SourceConnector, CONNECTORS))
    )
    reason = f"version {versioned.version}, of none of the connectors {names}"
    reason = "; ".join([reason, *failures])
    return None, SplitFacts(UNKNOWN, "", UNKNOWN, facts={"reason": reason})


def read_enumerator(
    versioned: Versioned, path: str, reader: SourceConnector | None
) -> tuple[SourceConnector | None, list[SplitFacts]]:
    """The connector of an enumerator, None for an unknown one, and the facts of its entries.

    Args:
        versioned: Its state.
        path: Where it lies.
        reader: The connector of the readers' splits, which is tried first.
    """
    first = [] if reader is None else [reader]
    for known in chain(first, CONNECTORS, of_plug_ins(SourceConnector, CONNECTORS)):
        try:
            if known.enumerator is not None:
                return known, list(known.enumerator(versioned, path))
        except FormatError:
            continue
    return None, []
