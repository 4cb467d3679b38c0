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
    """How the snapshot was asked for.

    Attributes:
        data: The Java stream, kept as it is.
        kind: The name of the snapshot's type: ``Savepoint``, ``Checkpoint``...; or empty.
        format_type: ``CANONICAL`` or ``NATIVE`` for a savepoint, else empty.
    """

    data: bytes
    kind: str = ""
    format_type: str = ""

    @classmethod
    def read(cls, view: DataInputView) -> Self:
        """Reads one Java object. Raises ``FormatError`` if there is none."""
        start = view.position
        properties = read_java_object(view)
        data = bytes(view.buffer[start : view.position])
        match properties:
            case JavaObject(fields={"checkpointType": JavaObject(fields=facts)}):
                return cls(data, str(facts.get("name", "")), _constant(facts.get("formatType")))
            case _:
                return cls(data)

    @property
    def is_canonical(self) -> bool:
        """Whether the snapshot is a canonical savepoint."""
        return self.format_type == _CANONICAL

    @classmethod
    def of_canonical_savepoint(cls) -> Self:
        """Those of a canonical savepoint that someone asked for while the job ran."""
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

_CHECKPOINT = "org.apache.flink.runtime.checkpoint"
_FORMAT_TYPE = "org.apache.flink.core.execution.SavepointFormatType"
_POST_ACTION = f"{_CHECKPOINT}.SavepointType$PostCheckpointAction"

# When the snapshot is to be removed, whether someone asked for it, whether nobody owns it.
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
    """The type of a field, as a class description has it."""
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
