"""Files of Flink's old source of files: ``ContinuousFileMonitoringFunction`` and the reader behind it.

The function stores one number, the reader an object of Java for each split that it has not read to its end.

| state                   | an element                                                              |
|-------------------------|-------------------------------------------------------------------------|
| `file-monitoring-state` | i64: time of the newest file that was found, in milliseconds since 1970; |
|                         | ``Long.MIN_VALUE`` if there was none, ``Long.MAX_VALUE`` if the job     |
|                         | reads a directory once, or was stopped by a savepoint                   |
| `splits`                | ``TimestampedFileInputSplit``: file, start, length, modificationTime,   |
|                         | splitState: where its reader is, in a form of its own; null if it has   |
|                         | not begun                                                               |

Flink: ``ContinuousFileMonitoringFunction``, ``ContinuousFileReaderOperator``, of 1.20.5.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from savepoint_extensions.connectors.byte_elements import byte_elements
from savepoint_extensions.connectors.connector_rows import SplitFacts
from savepoint_formats.bytes import DataInputView
from savepoint_formats.errors import FormatError
from savepoint_formats.java.stream import JavaObject, read_java_object
from savepoint_formats.metadata import NEWEST_FILE
from savepoint_formats.scan import operator_splits
from savepoint_formats.state_files import OperatorBackendHeader

if TYPE_CHECKING:
    from savepoint_database.snapshot import Operator

SPLITS_STATE = "splits"
NEVER, ONCE = -(1 << 63), (1 << 63) - 1

_SPLIT = "org.apache.flink.streaming.api.functions.source.TimestampedFileInputSplit"
_JAVA = "org.apache.flink.runtime.state.JavaSerializer"


@dataclass(frozen=True, slots=True)
class WaitingSplit:
    """A range of a file that was not read to its end.

    Attributes:
        subtask: The subtask that has it.
        uri: The file, as a URI with escapes.
        modified_ms: When the file was changed.
        has_begun: Whether a reader is in it.
    """

    subtask: int
    uri: str
    start: int
    length: int
    modified_ms: int
    has_begun: bool


def is_file_reader(operator: Operator) -> bool:
    """Whether an operator has the splits of the old source, be they none."""
    for split in operator_splits(operator.record):
        if SPLITS_STATE not in {state.name for state in split.handle.states}:
            continue
        header = OperatorBackendHeader.of_handle(operator.directory, split.handle)
        state = next(state for state in header.list_states if state.name == SPLITS_STATE)
        if all(entry.class_name.startswith(_JAVA) for _, entry in state.serializers):
            try:
                waiting_splits(operator)
            except FormatError:
                return False  # a list of the user's with the same name
            return True
    return False


def newest_times(operator: Operator) -> list[int]:
    """The times that a monitoring function has stored: one; none if it has no state."""
    elements = byte_elements(operator, [NEWEST_FILE], is_sized=False)
    return [DataInputView(element.data, NEWEST_FILE).read_long() for element in elements]


def waiting_splits(operator: Operator) -> list[WaitingSplit]:
    """The splits of a reader; raises ``FormatError`` for elements of another class."""
    return [
        _split(element.subtask, read_java_object(DataInputView(element.data, SPLITS_STATE)))
        for element in byte_elements(operator, [SPLITS_STATE], is_sized=False)
    ]


def waiting_facts(operator: Operator) -> list[SplitFacts]:
    """Facts of the splits of a reader, in the order of the elements."""
    splits = waiting_splits(operator) if is_file_reader(operator) else []
    return [
        SplitFacts(
            *("file", unquote(split.uri), "file"),
            state="reading" if split.has_begun else "waiting",
            facts={"from": split.start, "length": split.length},
        )
        for split in splits
    ]


def time_facts(operator: Operator) -> list[SplitFacts]:
    """What a monitoring function knows: the time of the newest file."""
    return [
        SplitFacts("file", "", "monitor", json.dumps({"newest_ms": newest}), state="")
        for newest in newest_times(operator)
    ]


def _split(subtask: int, value: Any) -> WaitingSplit:
    match value:
        case JavaObject(
            fields={
                "file": JavaObject(fields={"uri": JavaObject(fields={"string": str(uri)})}),
                "start": int(start),
                "length": int(length),
                "modificationTime": int(modified),
                "splitState": state,
            }
        ) if value.class_name == _SPLIT:
            return WaitingSplit(subtask, uri, start, length, modified, state is not None)
    raise FormatError("a split of an unknown class", SPLITS_STATE, 0)
