"""Follows a job: the changes of each of its checkpoints, while it goes on and deletes old ones."""

from __future__ import annotations

import shutil
import tempfile
import time
import warnings
import weakref
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from savepoint_database.checks import SavepointDiff
from savepoint_database.snapshot import Snapshot, opening_of
from savepoint_extensions.change_feed.change_feed import ChangeFeed, as_texts
from savepoint_extensions.change_feed.feed_tables import Wanted
from savepoint_extensions.change_feed.retained_steps import CheckpointDirectory
from savepoint_formats.errors import NotFoundError, UsageError
from savepoint_formats.savepoint_warnings import UnknownUidWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_database.snapshot import OpeningOptions
    from savepoint_extensions.change_feed.change_feed import StateBatch
    from savepoint_extensions.change_feed.feed_tables import ChangedState, NewTypes
    from savepoint_extensions.change_feed.retained_steps import Step
    from savepoint_formats.locations import PathText

Since = int | Literal["oldest", "newest"]
"""Where to begin: after a checkpoint, the oldest one that is there, or the newest one."""


@dataclass(frozen=True)
class CheckpointChanges:
    """The changes from one checkpoint to the next.

    All of them were read, into files for as long as this object lives: a checkpoint that is deleted later takes
    none of them along.

    Attributes:
        since: Id of the earlier checkpoint.
        checkpoint: Id of the later one.
        problem: Why the changes are unknown; empty if they are known.
    """

    since: int
    checkpoint: int
    problem: str = ""
    _stored: tuple[tuple[ChangedState, Path], ...] = field(default=(), repr=False)

    def by_state(self) -> Iterator[StateBatch]:
        """Typed batches, each with its state."""
        for state, path in self._stored:
            with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as stream:
                for batch in stream:
                    yield state, batch

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Batches of the table of all states, as those of ``ChangeFeed``."""
        for state, batch in self.by_state():
            yield as_texts(state, batch)

    def close(self) -> None:
        """Removes its files now. Python ignores a Ctrl-C while it removes those of an object that goes."""
        for folder in {path.parent for _, path in self._stored}:
            shutil.rmtree(folder, ignore_errors=True)


def follow_changes(
    directory: PathText,
    *,
    since: Since = "oldest",
    operator: str | None = None,
    state: str | None = None,
    with_times: bool = False,
    new_types: NewTypes = "refuse",
    skip_gone: bool = False,
    every: float | None = None,
    **opening: object,
) -> Iterator[CheckpointChanges]:
    """The changes of each checkpoint in a job's directory, the oldest first.

    Args:
        directory: Directory of a job with ``chk-1``, ``chk-2``…: a local path or a URI.
        since: Id of the checkpoint whose successor comes first; ``oldest`` or ``newest`` of those that are
            there at first.
        operator: Only this operator.
        state: Only states of this name.
        with_times: As for ``Savepoint.changes``.
        new_types: As for ``Savepoint.changes``.
        skip_gone: Whether the changes of a checkpoint that the job has deleted are left out: the result
            has ``problem`` then. By default they are an error.
        every: Seconds after which to look for new checkpoints, for ever. By default it ends with the newest one.
        **opening: As for ``Savepoint.open``.

    Returns:
        The changes from each checkpoint to the next that is retained.

    Raises:
        GoneCheckpointError: A checkpoint was deleted before its changes were read.
        SavepointNotFoundError: There is no such directory, or no checkpoint in it.
        AmbiguousJobError: The directory has several jobs.
        SavepointError: A checkpoint can't be read.

    Example:
        >>> for changes in follow_changes("s3://jobs/checkpoints/1a2b", since=17, every=10):
        ...     print(changes.checkpoint, sum(batch.num_rows for batch in changes.batches()))
    """
    wanted = Wanted(operator, state, with_times, new_types)
    options = opening_of(**opening)  # type: ignore[arg-type]  # it checks their names
    job = CheckpointDirectory.of(directory)
    return _followed(job, since, _Reading(wanted, options, skip_gone), every)


def _followed(
    job: CheckpointDirectory,
    since: Since,
    reading: _Reading,
    every: float | None,
) -> Iterator[CheckpointChanges]:
    last = first_checkpoint(job, since, waits=every is not None)
    while True:
        following = job.following(last)
        if following is not None:
            changes = reading.read(job, job.step(last, following))
            if changes is not None:
                yield changes
                last = following
        elif every is None:
            return
        else:
            time.sleep(every)


def first_checkpoint(job: CheckpointDirectory, since: Since, *, waits: bool = True) -> int:
    """The id of the checkpoint whose successor comes first; ``waits`` says whether it may come later."""
    checkpoints = job.checkpoints()
    if isinstance(since, int):
        if checkpoints and since > checkpoints[-1]:
            raise UsageError(
                f"{job.uri} has no checkpoint {since}; its newest one is {checkpoints[-1]}"
            )
        if checkpoints or waits:
            return since
    elif since not in ("oldest", "newest"):
        raise ValueError(
            f"since is {since!r}, expected the id of a checkpoint, 'oldest' or 'newest'"
        )
    if not checkpoints:
        raise UsageError(
            f"{job.uri} has no complete checkpoint yet: begin after one of them by its id, or wait"
        )
    return checkpoints[0] if since == "oldest" else checkpoints[-1]


@dataclass(frozen=True)
class _Reading:
    """How a step is read."""

    wanted: Wanted
    options: OpeningOptions
    skips_gone: bool

    def read(self, job: CheckpointDirectory, step: Step) -> CheckpointChanges | None:
        """The changes of a step, in files of a folder that goes with them; None if only its end is gone."""
        folder = tempfile.mkdtemp(prefix="savepoint-changes-")
        changes = None
        try:
            changes = self._read(job, step, Path(folder))
        finally:
            if changes is None:
                shutil.rmtree(folder, ignore_errors=True)
        if changes is not None:
            weakref.finalize(changes, shutil.rmtree, folder, ignore_errors=True)
        return changes

    def _read(self, job: CheckpointDirectory, step: Step, folder: Path) -> CheckpointChanges | None:
        try:
            job.expect(step)
            stored = tuple(_stored(feed_of(step, self.options, self.wanted).by_state(), folder))
        except NotFoundError as error:
            missing = [it for it in (step.since, step.checkpoint) if not job.has(it)]
            if not missing:
                raise
            if missing == [step.checkpoint]:
                return None  # its changes come with those of the next one
            gone = step.gone(missing[0])
            if not self.skips_gone:
                raise gone from error
            return CheckpointChanges(step.since, step.checkpoint, str(gone))
        return CheckpointChanges(step.since, step.checkpoint, "", stored)


def feed_of(step: Step, options: OpeningOptions, wanted: Wanted) -> ChangeFeed:
    """The changes of a step."""
    with warnings.catch_warnings():
        # A job's uids may be those of operators that came later.
        warnings.simplefilter("ignore", UnknownUidWarning)
        before = Snapshot.open(step.before, **options)
        after = Snapshot.open(step.after, **options)
    return ChangeFeed(SavepointDiff(before, after, None, wanted.with_times), wanted)


def _stored(batches: Iterable[StateBatch], folder: Path) -> Iterator[tuple[ChangedState, Path]]:
    """Writes the batches of each state to a file; the states come in turns, batch by batch."""
    with ExitStack() as stack:
        writers: dict[str, tuple[ChangedState, Path, pa.ipc.RecordBatchStreamWriter]] = {}
        for state, batch in batches:
            name = f"{state.full_name} {state.schema}"
            if name not in writers:
                path = folder / f"{len(writers)}.arrow"
                writer = stack.enter_context(pa.ipc.new_stream(str(path), batch.schema))
                writers[name] = (state, path, writer)
            writers[name][2].write_batch(batch)
    for state, path, _ in writers.values():
        yield state, path
