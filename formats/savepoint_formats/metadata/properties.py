"""Checkpoint properties: a Java object at the end of ``_metadata``, read as inert data.

Flink: ``org.apache.flink.runtime.checkpoint.CheckpointProperties``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from savepoint_formats.java.stream import (
    SERIALIZABLE,
    JavaClass,
    JavaEnum,
    JavaObject,
    read_java_object,
)
from savepoint_formats.java.stream_writer import java_object_bytes

if TYPE_CHECKING:
    from savepoint_formats.bytes.data_view import DataInputView, DataOutputView


@dataclass(frozen=True, slots=True)
class CheckpointProperties:
    """Kind and format of a snapshot, and the Java stream that holds them.

    ``kind`` is ``Savepoint``, ``Checkpoint``... or empty; ``format_type`` is ``CANONICAL`` or ``NATIVE``
    for a savepoint, otherwise empty.
    """

    data: bytes
    kind: str = ""
    format_type: str = ""

    @classmethod
    def read(cls, view: DataInputView) -> Self:
        start = view.position
        properties = read_java_object(view)
        data = bytes(view.buffer[start : view.position])
        match properties:
            case JavaObject(fields={"checkpointType": JavaObject(fields=facts)}):
                return cls(data, str(facts.get("name", "")), _constant(facts.get("formatType")))
            case _:
                return cls(data)

    @property
    def is_of_stopped_job(self) -> bool:
        """Whether the job was stopped when it took the savepoint; Flink stores that since 1.16."""
        return self.kind.lower().startswith(_STOPPED)

    @property
    def is_canonical(self) -> bool:
        """Whether the snapshot is a canonical savepoint."""
        return self.format_type == _CANONICAL

    @classmethod
    def of_canonical_savepoint(cls) -> Self:
        """Properties of a canonical savepoint that a user took while the job ran."""
        facts = {
            "formatType": JavaEnum(_FORMAT_TYPE, _CANONICAL),
            "name": _SAVEPOINT,
            "postCheckpointAction": JavaEnum(_POST_ACTION, "NONE"),
        }
        checkpoint_type = JavaObject(_SAVEPOINT_TYPE, facts)
        fields = {**_FLAGS, "checkpointType": checkpoint_type}
        data = java_object_bytes(JavaObject(_PROPERTIES, fields))
        return cls(data, _SAVEPOINT, _CANONICAL)

    def write(self, view: DataOutputView) -> None:
        view.write_bytes(self.data)


def _constant(value: object) -> str:
    return value.constant if isinstance(value, JavaEnum) else ""


_SAVEPOINT = "Savepoint"
_CANONICAL = "CANONICAL"
_STOPPED = ("suspend", "terminate")

_CHECKPOINT = "org.apache.flink.runtime.checkpoint"
_FORMAT_TYPE = "org.apache.flink.core.execution.SavepointFormatType"
_POST_ACTION = f"{_CHECKPOINT}.SavepointType$PostCheckpointAction"

_FLAGS = {
    "discardCancelled": False,
    "discardFailed": False,
    "discardFinished": False,
    "discardSubsumed": False,
    "discardSuspended": False,
    "forced": True,
    "unclaimed": False,
}


def _declared(class_name: str) -> str:
    return f"L{class_name.replace('.', '/')};"


_PROPERTIES = JavaClass(
    f"{_CHECKPOINT}.CheckpointProperties",
    SERIALIZABLE,
    (
        *(("Z", name) for name in _FLAGS),
        (_declared(f"{_CHECKPOINT}.SnapshotType"), "checkpointType"),
    ),
    uid=2,
)
# Flink declares no uid here; Java's own is the same from 1.16 to 2.2.
_SAVEPOINT_TYPE = JavaClass(
    f"{_CHECKPOINT}.SavepointType",
    SERIALIZABLE,
    (
        (_declared(_FORMAT_TYPE), "formatType"),
        (_declared("java.lang.String"), "name"),
        (_declared(_POST_ACTION), "postCheckpointAction"),
    ),
    uid=-0x5F78_2CF7_5BA7_EB48,
)
