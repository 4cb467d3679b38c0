"""The last committed batch of a stream: savepoints are taken, and streams continue, after it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from savepoint_formats.errors import SavepointNotFoundError
from savepoint_formats.locations import Location
from savepoint_formats.new_snapshot import whole_file

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

OFFSETS_FILE = "stream_offsets.json"
"""The file next to a savepoint that says how far its stream was read; Flink ignores it."""


@dataclass(frozen=True, slots=True)
class CommittedBatch:
    """A committed batch.

    Attributes:
        batch_id: Its number.
        watermark: The watermark that the rows of earlier batches have reached, in ms.
        offsets: The offsets after its last rows: one for each source of the query, as Spark writes
            them; null for a source without rows so far.
    """

    batch_id: int
    watermark: int
    offsets: tuple[Any, ...]

    @classmethod
    def last_of(cls, checkpoint: str) -> Self | None:
        """The last committed batch of a Spark checkpoint; None if there is none yet."""
        location = Location.of(checkpoint)
        commits = Location(location.filesystem, f"{location.path}/commits")
        numbers = [int(info.base_name) for info in commits.infos() if info.base_name.isdecimal()]
        return cls._read(location, max(numbers)) if numbers else None

    @classmethod
    def _read(cls, checkpoint: Location, batch_id: int) -> Self:
        # Spark: ``OffsetSeqLog``: a version, the metadata of the batch, and a line per source.
        lines = _text(checkpoint.filesystem, f"{checkpoint.path}/offsets/{batch_id}").splitlines()
        offsets = (None if line == "-" else json.loads(line) for line in lines[2:])
        return cls(batch_id, json.loads(lines[1])["batchWatermarkMs"], tuple(offsets))

    @classmethod
    def beside(cls, savepoint: str) -> Self:
        """The batch after which a savepoint was taken.

        Raises:
            SavepointNotFoundError: The savepoint is not of a stream, or is not complete.

        Example:
            >>> CommittedBatch.beside("/jobs/totals/savepoints/savepoint-12").offsets
        """
        location = Location.of(f"{savepoint}/{OFFSETS_FILE}")
        if location.file_size() is None:
            raise SavepointNotFoundError(
                f"{savepoint} has no {OFFSETS_FILE}: it is not of a stream, or not complete"
            )
        fields = json.loads(_text(location.filesystem, location.path))
        return cls(fields["batch_id"], fields["watermark"], tuple(fields["offsets"]))

    def write_beside(self, savepoint: str) -> None:
        """Writes the offsets next to a savepoint. Raises ``SavepointError`` if that fails."""
        text = json.dumps(
            {"batch_id": self.batch_id, "watermark": self.watermark, "offsets": self.offsets}
        )
        with whole_file(f"{savepoint}/{OFFSETS_FILE}", is_overwritten=True) as file:
            file.write(text.encode())


def _text(filesystem: FileSystem, path: str) -> str:
    with filesystem.open_input_stream(path) as stream:
        text: str = stream.read().decode()
        return text
