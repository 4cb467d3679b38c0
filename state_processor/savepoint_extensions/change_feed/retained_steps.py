"""Checkpoints of a job in its directory, and the steps from each to the next.

A job deletes old checkpoints while others read them. Flink deletes ``_metadata`` first, then the files of
state, so a checkpoint is gone when its ``_metadata`` is.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyarrow import fs

from savepoint_formats.errors import (
    AmbiguousJobError,
    NotFoundError,
    SavepointNotFoundError,
    UsageError,
)
from savepoint_formats.locations import (
    METADATA_FILE,
    Location,
    is_live,
    path_text,
    reading_errors,
    uri_below,
)

if TYPE_CHECKING:
    from savepoint_formats.locations import PathText

_CHECKPOINT = re.compile(r"chk-(\d+)")
_OF_VOLUME = "lost+found"
"""Folder of a volume, which only the superuser may list."""


class GoneCheckpointError(NotFoundError):
    """A retained checkpoint was deleted before its changes were read."""


@dataclass(frozen=True, slots=True)
class Step:
    """From one checkpoint to a later one: their ids and paths."""

    since: int
    checkpoint: int
    before: str
    after: str

    def gone(self, checkpoint: int) -> GoneCheckpointError:
        """The error for a checkpoint of the step that is not there any more."""
        return GoneCheckpointError(
            f"checkpoint {checkpoint} is gone, so the changes from checkpoint {self.since} to"
            f" {self.checkpoint} are unknown: let the job retain more checkpoints"
            " (execution.checkpointing.num-retained), and skip this step by skip_gone=True (--skip-gone)"
        )


@dataclass(frozen=True)
class CheckpointDirectory:
    """A directory with the checkpoints of one job.

    Attributes:
        uri: The directory that has ``chk-1``, ``chk-2``…
    """

    uri: str

    @classmethod
    def of(cls, path: PathText) -> CheckpointDirectory:
        """The directory, or the only one of a job in it.

        Raises:
            SavepointNotFoundError: There is no such directory, or it has no checkpoint.
            AmbiguousJobError: It has the directories of several jobs.
            UsageError: It is a running job, ``flink://…``.
        """
        uri = path_text(path).rstrip("/") or "/"
        if is_live(uri):
            raise UsageError(
                f"{uri} is a running job: name the directory of its checkpoints, as savepoint jobs shows it"
            )
        own = cls(uri)
        folders = own._folders("")
        if any(map(_CHECKPOINT.fullmatch, folders)):
            return own
        jobs = [
            folder
            for folder in folders
            if folder != _OF_VOLUME and any(map(_CHECKPOINT.fullmatch, own._folders(folder)))
        ]
        if len(jobs) > 1:
            raise AmbiguousJobError(
                f"{uri} has checkpoints of {len(jobs)} jobs: name the directory of one of them:"
                f" {', '.join(own._uri_of(job) for job in jobs)}"
            )
        if not jobs:
            raise SavepointNotFoundError(
                f"{uri} has no checkpoints, expected the directory of a job with chk-1, chk-2…"
            )
        return cls(own._uri_of(jobs[0]))

    def checkpoints(self) -> list[int]:
        """Ids of the completed checkpoints that are there now, ascending."""
        numbers = (
            int(match[1])
            for folder in self._folders("")
            if (match := _CHECKPOINT.fullmatch(folder))
        )
        return sorted(number for number in numbers if self.has(number))

    def following(self, checkpoint: int) -> int | None:
        """The next completed checkpoint; None if it is not there yet.

        If all ids are lower now, because the job began anew in its directory, it is the oldest one.
        """
        for _ in range(2):  # while checkpoints are looked at, their job deletes some
            there = self.checkpoints()
            later = [it for it in there if it > checkpoint]
            if later or not there or there[-1] == checkpoint:
                return later[0] if later else None
        return there[0]

    def has(self, checkpoint: int) -> bool:
        """Whether a checkpoint is complete, and still there."""
        location = Location.of(self.path_of(checkpoint))
        with reading_errors(self.uri):
            (info,) = location.filesystem.get_file_info([f"{location.path}/{METADATA_FILE}"])
        return bool(info.type == fs.FileType.File)

    def step(self, since: int, checkpoint: int) -> Step:
        """The step between two checkpoints."""
        return Step(since, checkpoint, self.path_of(since), self.path_of(checkpoint))

    def path_of(self, checkpoint: int) -> str:
        return self._uri_of(f"chk-{checkpoint}")

    def expect(self, step: Step) -> None:
        """Raises ``GoneCheckpointError`` if a checkpoint of the step is gone."""
        for checkpoint in (step.since, step.checkpoint):
            if not self.has(checkpoint):
                raise step.gone(checkpoint)

    def _folders(self, below: str) -> list[str]:
        location = Location.of(self.uri)
        path = posixpath.join(location.path, below) if below else location.path
        with reading_errors(self.uri):
            infos = location.filesystem.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return [info.base_name for info in infos if info.type == fs.FileType.Directory]

    def _uri_of(self, below: str) -> str:
        """Path of a folder, in the user's spelling of the directory."""
        return uri_below(self.uri, below)
