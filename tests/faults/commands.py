"""Commands, as ways to write; those that need Spark take the session of the driver."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from support.cdc_sources import element, enumerator, position, stream
from support.commands import result_of
from support.kafka_states import (
    COLLECTORS,
    ENUMERATOR,
    SPLIT,
    WRITERS,
    bytes_savepoint,
    coordinator,
)
from support.local_counts import MERGE, write_local

from faults.ways import Place, Way
from savepoint_extensions.connectors.kafka.kafka_source import CoordinatorState
from savepoint_extensions.connectors.source_splits.cdc_splits import CdcForm
from savepoint_formats.errors import SavepointError
from savepoint_formats.locations.file_io import METADATA_FILE
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

_SAMPLES = Path(__file__).parents[2] / "sample_savepoints"
_OLD = "currency-2.2.1-hashmap-canonical"
_NATIVE = "currency-2.2.1-hashmap-native"
_CORPUS = Path(os.environ.get("SAVEPOINT_CORPUS", _SAMPLES.parents[1] / "shared" / "corpus"))
_SQL = "stream-exec-group-aggregate_1/group-aggregate-simple"
_CONNECTORS = "connectors"
SUMS = "summarize"
_ALONE = {
    _NATIVE: SUMS,
    "currency-2.2.1-rocksdb-native": SUMS,
    "objects-1.20.5-hashmap-canonical": "payments",
    "states-2.2.1-hashmap-native": "stateful",
}
"""Sample -> its operator that commands get alone, because each call for the others is struck by ``copy``."""

_ROCKSDB = f"{SUMS}-of-currency-2.2.1-rocksdb-native"

_POJOS = "stateful-of-states-2.2.1-hashmap-native"

_OF_POJO = ("stateful", "customer")
_ROWS = "rows.csv"
_UIDS = ("orders", "mysql", "sink", "committer")
_FORM = CdcForm(False, 4)


_DESCRIPTION = """\
uid: totals
parallelism: 2
max_parallelism: 8
keyed_state:
  key: account
  key_type: LONG
  states: [{name: total, type: DOUBLE}]
"""

_CHANGES = """\
- rename-class: {classes: {shop.Address: shop.Place}}
- widen-field: {operator: stateful, state: customer, field: purchases, type: LONG}
- rename-state: {operator: stateful, old: last_id, new: latest_id}
- update-state: {operator: stateful, state: latest_id, set: latest_id + 1}
- rename-operator: {old: stateful, new: customers}
"""

_COUNTS = """\
base: {base}
uid: summarize
keyed_state:
  key: currency
  key_type: INT
  states: [{{name: count, type: INT}}]
"""


def make_sources(folder: Path) -> None:
    """Makes what commands read, and older results."""
    result_of("copy", _SAMPLES / _OLD, folder / "old")
    (folder / "old-file").mkdir()
    (folder / "old-file" / _ROWS).write_text("old\n")
    (folder / "rules.yaml").write_text("rules: [{type: text, method: hash}]\n")
    (folder / "changes.yaml").write_text(_CHANGES)
    accounts = (f"{account},{account / 2}\n" for account in range(99))
    (folder / "accounts.csv").write_text("account,total\n" + "".join(accounts))
    (folder / "accounts.yaml").write_text(_DESCRIPTION)
    (folder / "counts.csv").write_text("currency,count\n1,1\n2,2\n")
    (folder / "counts.yaml").write_text(_COUNTS.format(base=json.dumps(str(_SAMPLES / _NATIVE))))
    for sample, uid in _ALONE.items():
        _make_alone(_SAMPLES / sample, uid, folder / f"{uid}-of-{sample}")
    result_of("find", folder / _ROCKSDB, "7", "--save", folder / "found.json")
    _make_connectors(folder)
    if _CORPUS.is_dir():
        _make_plans(folder)


def _make_alone(sample: Path, uid: str, target: Path) -> None:
    """Copies an operator of a sample without the others."""
    savepoint = Savepoint.open(sample, uids=[uid])
    writer = savepoint.writer()
    for operator in savepoint.operators():
        if operator.uid != uid:
            writer = writer.remove_operator(operator.uid or operator.id)
    writer.write(str(target))


def _make_plans(folder: Path) -> None:
    """Makes a plan of a job, and that of the same without its last aggregate."""
    plan = json.loads((_CORPUS / "sql-plans" / f"{_SQL}.json").read_text())
    (folder / "before.json").write_text(json.dumps(plan))
    aggregation = next(node for node in plan["nodes"] if node["id"] == 4)
    for calls in ("aggCalls", "aggCallNeedRetractions"):
        aggregation[calls].pop()
    (folder / "after.json").write_text(json.dumps(plan))


def _make_connectors(folder: Path) -> None:
    """Makes a savepoint with sources and a pending commit of Kafka."""
    tables = {"orders": [10, 20]}
    snapshot = CoordinatorState(1, enumerator(5, _FORM, tables).to_versioned())
    (folder / "offsets.csv").write_text("topic,partition,offset\norders,3,120000\n")
    bytes_savepoint(
        folder / _CONNECTORS,
        {
            "orders": {"SourceReaderState": [SPLIT]},
            "mysql": {"SourceReaderState": [element(stream(_FORM, 30, tables, ""), _FORM)]},
            "sink": {"writer_raw_states": [WRITERS["3.4.0-1.20"]]},
            "committer": {"streaming_committer_raw_states": list(COLLECTORS.values())},
        },
        {"orders": coordinator(ENUMERATOR), "mysql": snapshot.to_bytes()},
    )


@dataclass(frozen=True)
class Command(Way):
    """A command.

    Attributes:
        words: Its words; ``SOURCE``, ``OUT`` and ``FOLDER`` stand for paths.
        sample: The savepoint that it reads: below the folder of the run, or a sample.
    """

    words: Sequence[str] = ()
    sample: Path = Path(_NATIVE)
    expected: dict[str, Counter[str]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(
        cls,
        *words: str,
        sample: str | Path = _NATIVE,
        marker: str = METADATA_FILE,
        needs_spark: bool = False,
    ) -> Command:
        """A command that writes to a free place."""
        uids = [word for uid in _UIDS for word in ("--uid", uid)] if sample == _CONNECTORS else []
        words = (*words, *uids)

        def write(_: SparkSession, place: Place, mode: str) -> None:
            # The driver works in the folder of the run.
            paths = {"SOURCE": place.source, "OUT": place.target, "FOLDER": str(Path.cwd())}
            named = [_with_paths(word, paths) for word in words]
            result = result_of(*named, *(["--overwrite"] if mode == "overwrite" else []))
            if result.exit_code:
                raise SavepointError(result.stderr.strip())

        return cls(
            *(write, lambda _: 0),
            words=words,
            sample=Path(sample),
            marker=marker,
            needs_spark=needs_spark,
        )

    def source(self, folder: Path) -> Path:
        made = folder / self.sample
        return made if made.exists() else _SAMPLES / self.sample

    def old(self, folder: Path) -> Path:
        return folder / ("old-file" if self.marker == _ROWS else "old")

    def fault(self, place: Place) -> str:
        try:
            if self.marker == METADATA_FILE:
                verification = Savepoint.open(place.target).verify()
                if not verification.is_whole:
                    return f"verify finds {verification.faults[0]}"
            found = self._contents(place)
        except SavepointError as error:
            return f"the savepoint can't be read: {type(error).__name__}: {error}"
        expected = self.expected.setdefault(Path(place.source).name, found)
        return "" if found == expected else f"other contents: {found}, expected {expected}"

    def left_over(self, place: Place) -> str:
        if self.marker == METADATA_FILE:
            return super().left_over(place)
        others = {path.name for path in Path(place.target).iterdir()} - {self.marker}
        return f"left over: {sorted(others)}" if others else ""

    def _contents(self, place: Place) -> Counter[str]:
        """Digests of the data files, whose names differ, and the size of ``_metadata``."""
        marker = Path(place.target) / self.marker
        if self.marker != METADATA_FILE:
            return Counter([_digest(marker)])
        files = Savepoint.open(place.target).files()
        names = [Path(file.path).name for file in files if file.references]
        data = [_digest(marker.parent / name) for name in names if name != METADATA_FILE]
        return Counter([*data, str(marker.stat().st_size)])


def _with_paths(word: str, paths: dict[str, str]) -> str:
    for name, path in paths.items():
        if name in word:
            where, question, options = path.partition("?")
            word = word.replace(name, where) + question + options
    return word


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


_FREE = {
    "copy": Command.of("copy", "SOURCE", "OUT"),
    "rename-operator": Command.of("rename-operator", "SOURCE", "summarize", "sums", "OUT"),
    "remove-operator": Command.of("remove-operator", "SOURCE", "summarize", "OUT"),
    "kafka": Command.of(
        "kafka", "SOURCE", "--set-offsets", "FOLDER/offsets.csv", "--operator", "orders", "--out", "OUT",
        sample=_CONNECTORS,
    ),
    "sinks": Command.of(
        "sinks", "SOURCE", "--drop", "kind = 'commit'", "--out", "OUT", sample=_CONNECTORS
    ),
    "sources": Command.of(
        "sources", "SOURCE", "--set", f"binlog-split={position(99, is_base=False)}", "--out", "OUT",
        sample=_CONNECTORS,
    ),
    "export": Command.of(
        "export", "SOURCE", "summarize.keyed_state", f"OUT/{_ROWS}", "--format", "csv", marker=_ROWS
    ),
}  # fmt: skip

_SMALL = "small"
_LOCAL = "local"


def _write_local(spark: SparkSession, place: Place, _: str) -> None:
    write_local(spark, Path(place.target))


SOURCES = {_LOCAL: Way(_write_local, lambda _: 0)}
"""Name of a savepoint that commands read -> how Spark makes it."""

_RULES = [word for state, rule in MERGE.items() for word in ("--merge", f"{state}={rule}")]


def _on_spark(*words: str, sample: str | Path = _SMALL) -> Command:
    return Command.of(*words, sample=sample, needs_spark=True)


SHRINK = "rehash"

_FREE_ON_SPARK = {
    SHRINK: _on_spark(
        "rescale", "SOURCE", "OUT", "--max-parallelism", "4", "--parallelism", "2", sample=f"{SUMS}-of-{_NATIVE}"
    ),
    "convert": _on_spark("convert", "SOURCE", "OUT", sample=_ROCKSDB),
    "erase": _on_spark(
        "delete-keys", "SOURCE", "OUT", "--found", "FOLDER/found.json", "--rewrite", sample=_ROCKSDB
    ),
    "migrate": _on_spark(
        "migrate", "SOURCE", "OUT", "--uid", "payments", "--skip-state", "payments/payment",
        sample="payments-of-objects-1.20.5-hashmap-canonical",
    ),
    "import": _on_spark(
        "import", "FOLDER/accounts.csv", "OUT", "--description", "FOLDER/accounts.yaml"
    ),
    "mask": _on_spark("mask", "SOURCE", "FOLDER/rules.yaml", "OUT"),
    "sample": _on_spark("sample", "SOURCE", "OUT", "--fraction", "0.5"),
    "remove-state": _on_spark("remove-state", "SOURCE", "summarize", "count", "OUT"),
    # Without a time, the time of the write is in each value.
    "set-ttl": _on_spark(
        "set-ttl", "SOURCE", "summarize", "count", "on", "OUT", "--at", "2026-01-01T00:00:00Z"
    ),
    "expire": _on_spark(
        "expire", "SOURCE", "stateful", "OUT", "--older-than", "1d", "--at", "2100-01-01T00:00:00Z", sample=_POJOS
    ),
    "dedupe-list": _on_spark(
        "dedupe-list", "SOURCE", "buffer", "offsets", "OUT", "--uid", "buffer",
        sample="states-2.2.1-hashmap-canonical",
    ),
    "rename-state": _on_spark("rename-state", "SOURCE", "summarize", "count", "number", "OUT"),
    "import-state": _on_spark(
        "import", "FOLDER/counts.csv", "OUT", "--description", "FOLDER/counts.yaml", "--state"
    ),
    "update-state": _on_spark(
        "update-state", "SOURCE", "summarize", "count", "OUT", "--set", "count + 1"
    ),
    "add-field": _on_spark(
        "add-field", "SOURCE", *_OF_POJO, "vip", "BOOLEAN", "OUT", "--value", "customer.age > 9", sample=_POJOS
    ),
    "drop-field": _on_spark("drop-field", "SOURCE", *_OF_POJO, "tags", "OUT", sample=_POJOS),
    "rename-field": _on_spark(
        "rename-field", "SOURCE", *_OF_POJO, "address.zip", "code", "OUT", sample=_POJOS
    ),
    "widen-field": _on_spark(
        "widen-field", "SOURCE", *_OF_POJO, "purchases", "LONG", "OUT", sample=_POJOS
    ),
    "apply": _on_spark("apply", "SOURCE", "FOLDER/changes.yaml", "OUT", sample=_POJOS),
    "merge-local": _on_spark(
        "merge-local", "SOURCE", "OUT", "--uid", "counts", "--operator", "counts", *_RULES, sample=_LOCAL
    ),
    "sql-migrate": _on_spark(
        "sql-migrate", "FOLDER/before.json", "FOLDER/after.json", "SOURCE", "OUT", "--allow-loss",
        sample=_CORPUS / "sql" / _SQL,
    ),
}  # fmt: skip


def _with_over(commands: dict[str, Command]) -> dict[str, Command]:
    over = {f"{name}-over": replace(one, is_replacing=True) for name, one in commands.items()}
    return commands | over


PLAIN = _with_over(_FREE)
"""Name -> command that needs no Spark; those with ``-over`` replace an older result."""

COMMANDS = PLAIN | _with_over(_FREE_ON_SPARK)
"""Name -> command, with Spark or without."""
