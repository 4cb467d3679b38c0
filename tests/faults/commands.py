"""Commands that write without Spark, as ways to write."""

from __future__ import annotations

import hashlib
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

from faults.ways import Place, Way
from savepoint_formats.errors import SavepointError
from savepoint_formats.kafka.source_state import CoordinatorState
from savepoint_formats.locations.file_io import METADATA_FILE
from savepoint_formats.source_splits.cdc_splits import CdcForm
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

_SAMPLES = Path(__file__).parents[2] / "sample_savepoints"
_OLD = "currency-2.2.1-hashmap-canonical"
_SAMPLE = _SAMPLES / "currency-2.2.1-hashmap-native"
_ROWS = "rows.csv"
_UIDS = ("orders", "mysql", "sink", "committer")
_FORM = CdcForm(False, 4)


def make_sources(folder: Path) -> None:
    """Makes a savepoint with sources and a pending commit of Kafka, and older results."""
    result_of("copy", _SAMPLES / _OLD, folder / "old")
    (folder / "old-file").mkdir()
    (folder / "old-file" / _ROWS).write_text("old\n")
    tables = {"orders": [10, 20]}
    snapshot = CoordinatorState(1, enumerator(5, _FORM, tables).to_versioned())
    (folder / "offsets.csv").write_text("topic,partition,offset\norders,3,120000\n")
    bytes_savepoint(
        folder / "connectors",
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
        has_connectors: Whether its source is that of connectors, not a sample.
    """

    words: Sequence[str] = ()
    has_connectors: bool = False
    expected: dict[str, Counter[str]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, *words: str, has_connectors: bool = False, marker: str = METADATA_FILE) -> Command:
        """A command that writes to a free place."""
        uids = [word for uid in _UIDS for word in ("--uid", uid)] if has_connectors else []
        words = (*words, *uids)

        def write(_: SparkSession, place: Place, mode: str) -> None:
            folder = Path(place.source).parent
            paths = {"SOURCE": place.source, "OUT": place.target, "FOLDER": str(folder)}
            named = [_with_paths(word, paths) for word in words]
            result = result_of(*named, *(["--overwrite"] if mode == "overwrite" else []))
            if result.exit_code:
                raise SavepointError(result.stderr.strip())

        return cls(write, lambda _: 0, words=words, has_connectors=has_connectors, marker=marker)

    def source(self, folder: Path) -> Path:
        return folder / "connectors" if self.has_connectors else _SAMPLE

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
        expected = self.expected.setdefault("", found)
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
        word = word.replace(name, path)
    return word


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


_FREE = {
    "copy": Command.of("copy", "SOURCE", "OUT"),
    "rename-operator": Command.of("rename-operator", "SOURCE", "summarize", "sums", "OUT"),
    "remove-operator": Command.of("remove-operator", "SOURCE", "summarize", "OUT"),
    "kafka": Command.of(
        "kafka", "SOURCE", "--set-offsets", "FOLDER/offsets.csv", "--operator", "orders", "--out", "OUT",
        has_connectors=True,
    ),
    "sinks": Command.of(
        "sinks", "SOURCE", "--drop", "kind = 'commit'", "--out", "OUT", has_connectors=True
    ),
    "sources": Command.of(
        "sources", "SOURCE", "--set", f"binlog-split={position(99, is_base=False)}", "--out", "OUT",
        has_connectors=True,
    ),
    "export": Command.of(
        "export", "SOURCE", "summarize.keyed_state", f"OUT/{_ROWS}", "--format", "csv", marker=_ROWS
    ),
}  # fmt: skip

COMMANDS = _FREE | {
    f"{name}-over": replace(command, is_replacing=True) for name, command in _FREE.items()
}
"""Name -> command; those with ``-over`` replace an older result."""
