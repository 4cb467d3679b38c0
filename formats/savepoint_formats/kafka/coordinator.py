"""State of a source's coordinator, which holds what its enumerator wrote.

| bytes  | field      | meaning                                        |
|--------|------------|------------------------------------------------|
| i32    | version    | 0 or 1; with 0, Flink's own data follows       |
| i32, … | enumerator | a ``Versioned`` state of the enumerator        |
| …      | rest       | version 0 only: splits on their way to readers |

Flink: ``SourceCoordinatorSerdeUtils``, ``SourceCoordinator``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import UnsupportedVersionError
from savepoint_formats.kafka.versioned import Versioned


@dataclass(frozen=True, slots=True)
class CoordinatorState:
    """State of an enumerator, as its coordinator stores it."""

    version: int
    enumerator: Versioned
    rest: bytes = b""

    @classmethod
    def of(cls, state: bytes, path: str) -> Self:
        """Raises ``FormatError`` if the bytes are no state of a source's coordinator."""
        view = DataInputView(state, path)
        version = view.read_int()
        if version not in (0, 1):
            raise view.error(f"a coordinator of version {version}", UnsupportedVersionError)
        enumerator = Versioned.read(view)
        if version:
            view.expect_end()
        return cls(version, enumerator, view.read_rest())

    def to_bytes(self) -> bytes:
        """The state, in the version that was read."""
        view = DataOutputView()
        view.write_int(self.version)
        self.enumerator.write(view)
        view.write_bytes(self.rest)
        return view.to_bytes()
