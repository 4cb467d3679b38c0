"""``FlinkKinesisConsumer`` -> ``KinesisStreamsSource``: positions become splits of readers, and known shards.

Not proven: no release of the new source could be run. The layouts, and what the source makes of them,
are those of its code in flink-connector-aws 5.0 and later.

| stored position             | position of the split                                               |
|-----------------------------|---------------------------------------------------------------------|
| number of the last record   | after that record                                                   |
| the same in an aggregate    | none: records of an aggregate can't be told apart                   |
| LATEST, TRIM_HORIZON        | the same                                                            |
| AT_TIMESTAMP                | none: the time is in the configuration of the old job               |
| SHARD_ENDING                | no split: the shard was read to its end                             |

The enumerator lists the shards behind the last one that it has seen, which is the one with the greatest
id, and reads them from their beginning.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_extensions.connectors.consumed_shards import PART, ConsumedShard, consumed_shards
from savepoint_extensions.connectors.renewal.renewed_operator import Renewed, with_byte_lists
from savepoint_extensions.connectors.renewal.renewed_source import NewSplit, renewed_source
from savepoint_extensions.connectors.source_splits.shard_splits import (
    KinesisEnumerator,
    KinesisSplit,
)
from savepoint_extensions.connectors.source_splits.split_connectors import kinesis_facts
from savepoint_formats.errors import RefusedError
from savepoint_formats.metadata import KINESIS_POSITIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.connectors.kafka.versioned import Versioned
    from savepoint_extensions.connectors.renewal.renewed_operator import RenewalOptions

_VERSION = 1
# What the new source takes for splits of version 0, which have none; it reads them as numbers.
_NO_HASH_KEYS = ("-1", "0")
_ARN = re.compile(r"arn:[^:\s]+:kinesis:[^:\s]+:[^:\s]*:stream/([a-zA-Z0-9_.-]+)")
_NOT_PROVEN = (
    "the state of its KinesisStreamsSource is not proven: no release of it could be run, and the layout is"
    " that of its code in flink-connector-aws 5.0 and later. Try the restore before you rely on it"
)


def renewed_shards(operator: Operator, options: RenewalOptions) -> Renewed:
    """The operator of a ``KinesisStreamsSource`` that continues where the consumer stopped.

    Raises:
        RefusedError: There is no position, and the user didn't confirm that; the shards are of several
            streams; the ARN of their stream is not known; a position can't be written exactly.
        SavepointError: A file is gone or damaged.
    """
    shards = _shards(operator)
    if not shards:
        return _empty(operator, options)
    chosen = [shard for shard in shards if shard.stream not in options.without_topics]
    streams = sorted({shard.stream for shard in chosen})
    if len(streams) > 1:
        raise RefusedError(
            f"operator {operator.name}: it reads the streams {', '.join(streams)}, and a"
            " KinesisStreamsSource reads one: leave the others out by --without-topic, write a savepoint"
            " for each, and take the other sources from these by savepoint transplant --new-uid"
        )
    arns = {stream: _arn(operator, stream, options.stream_arns) for stream in streams}
    splits = [
        _split(shard, arns[shard.stream])
        for shard in chosen
        if not (shard.is_finished and shard.shard not in options.positions)
    ]
    last_seen = max((shard.shard for shard in chosen), default=None)
    renewed = renewed_source(
        operator,
        {KINESIS_POSITIONS},
        splits,
        lambda raws: _enumerator(last_seen, raws),
        options,
    )
    names = renewed.names | {name for shard in shards for name in (shard.stream, shard.shard)}
    remark = f"operator {operator.name}: {_NOT_PROVEN}"
    return replace(renewed, names=names, remarks=(remark,))


def _shards(operator: Operator) -> list[ConsumedShard]:
    shards = consumed_shards(operator)
    if None in shards:
        raise RefusedError(f"operator {operator.name}: it has shards of an unknown class")
    return [shard for shard in shards if shard is not None]


def _empty(operator: Operator, options: RenewalOptions) -> Renewed:
    if not options.allows_empty:
        raise RefusedError(
            f"operator {operator.name}: its FlinkKinesisConsumer has stored no position, so that the new"
            " source would begin where its configuration says: take a savepoint while the job runs, or"
            " cancel it with a retained checkpoint; or confirm it by --allow-empty"
        )
    return Renewed(with_byte_lists(operator, {KINESIS_POSITIONS}, {}))


def _arn(operator: Operator, stream: str, arns: Iterable[str]) -> str:
    """The ARN of a stream, by which the new source names it."""
    for arn in arns:
        matched = _ARN.fullmatch(arn)
        if matched is None:
            raise ValueError(
                f"{arn!r} is no ARN of a stream, such as arn:aws:kinesis:eu-central-1:123456789012:stream/orders"
            )
        if matched[1] == stream:
            return arn
    raise RefusedError(
        f"operator {operator.name}: a KinesisStreamsSource names its stream by an ARN, which the savepoint"
        f" doesn't have: savepoint sources PATH OUT --to-new {operator.name} --stream-arn ARN, with the ARN"
        f" of {stream}, and migrate OUT"
    )


def _split(shard: ConsumedShard, arn: str) -> NewSplit:
    first, last = shard.hash_keys
    hash_keys = first or _NO_HASH_KEYS[0], last or _NO_HASH_KEYS[1]
    split = KinesisSplit.of_version_1(arn, shard.shard, shard.parents, hash_keys)
    problem, kind = "", shard.position["type"]
    if PART in shard.position:
        problem = (
            f"record {shard.position[PART]} of an aggregated record was the last one that was read; the new"
            f" source begins behind or with all of it: AFTER_SEQUENCE_NUMBER or AT_SEQUENCE_NUMBER"
            f" {shard.position['sequence_number']}"
        )
    elif kind == "AT_TIMESTAMP":
        problem = "it was to be read from a time that only the configuration of the old job has"
    elif not shard.is_finished:
        split = split.at(shard.position)
    facts = replace(kinesis_facts(split), table=shard.stream, position=json.dumps(shard.position))
    return NewSplit(shard.subtask, facts, split.to_versioned(), problem)


def _enumerator(last_seen: str | None, raws: Sequence[Versioned]) -> Versioned:
    splits = tuple((KinesisSplit.of(raw, KINESIS_POSITIONS), True) for raw in raws)
    return KinesisEnumerator(_VERSION, last_seen, splits, _VERSION).to_versioned()
