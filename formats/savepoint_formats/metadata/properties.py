"""Checkpoint properties: a Java object at the end of ``_metadata``, read as inert data.

Flink: ``org.apache.flink.runtime.checkpoint.CheckpointProperties``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from savepoint_formats.java.stream import JavaEnum, JavaObject, read_java_object

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

    def write(self, view: DataOutputView) -> None:
        view.write_bytes(self.data)


def _constant(value: object) -> str:
    return value.constant if isinstance(value, JavaEnum) else ""
