"""Jobs of a running cluster, their snapshots, and the path of the latest one.

Nothing is triggered unless ``take_savepoint`` is called, and nothing is ever cancelled or deleted.

The answers of a cluster may be three seconds old (``web.refresh-interval``): a checkpoint that it
names may be deleted, because a job removes older checkpoints. Then it is asked again.

Flink: ``JobsOverviewHandler``, ``CheckpointingStatisticsHandler``, ``SavepointHandlers``.
"""

from __future__ import annotations

import re
import time
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from savepoint_extensions.live_jobs.flink_rest import RestInterface
from savepoint_extensions.live_jobs.named_paths import allowed_path
from savepoint_extensions.live_jobs.rest_answers import (
    Answer,
    milliseconds_of,
    number_of,
    object_of,
    objects_of,
    text_of,
)
from savepoint_formats.errors import (
    AmbiguousJobError,
    ClusterError,
    JobNotFoundError,
    SavepointNotFoundError,
    StateFileNotFoundError,
)
from savepoint_formats.locations import PathRules, SnapshotDirectory, is_live
from savepoint_formats.printable import did_you_mean
from savepoint_formats.savepoint_warnings import NewestSnapshotWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from savepoint_database.snapshot import Snapshot
    from savepoint_formats.locations import PathText

SnapshotT = TypeVar("SnapshotT", bound="Snapshot")

_ID = re.compile("[0-9a-f]{32}")
_ENDED = ("FINISHED", "CANCELED", "FAILED")
_NOT_ADDRESSABLE = "<checkpoint-not-externally-addressable>"
_POLL_SECONDS = 0.5
_PATIENCE_SECONDS = 8.0
_TRIGGER = "--trigger takes a savepoint"


@dataclass(frozen=True, slots=True)
class LiveSnapshot:
    """A completed checkpoint or savepoint that a cluster knows.

    Attributes:
        job: Name of the job.
        job_id: Id of the job, 32 hexadecimal digits.
        state: State of the job, such as ``RUNNING``.
        id: Id of the checkpoint; None in the row of a job without one.
        kind: ``checkpoint`` or ``savepoint``.
        time: Time in UTC at which it was triggered.
        age_seconds: Seconds since then.
        size: Bytes of all its state.
        path: Its path; empty if it was stored without one.
        is_discarded: Whether the cluster has deleted it.
    """

    job: str
    job_id: str
    state: str
    id: int | None = None
    kind: str = ""
    time: str | None = None
    age_seconds: int | None = None
    size: int | None = None
    path: str = ""
    is_discarded: bool = False


@dataclass(frozen=True, slots=True)
class LiveJob:
    """A job of a cluster."""

    rest: RestInterface
    id: str
    name: str
    state: str

    @classmethod
    def of(cls, address: str) -> LiveJob:
        """The job that an address names by its id or its name.

        If several jobs have the name, the running one is meant.

        Raises:
            JobNotFoundError: The cluster has no such job; the message lists its jobs.
            AmbiguousJobError: Several running jobs have the name, or the address names none.
            ClusterError, UnreachableError: The cluster refuses, or does not answer.
        """
        rest, wanted = RestInterface.of(address)
        jobs = list(_jobs(rest))
        named = [job for job in jobs if wanted in (job.id, job.name)] if wanted else jobs
        running = [job for job in named if job.state not in _ENDED]
        candidates = running or named
        if len(candidates) == 1:
            return candidates[0]
        listed = ", ".join(f"{job.name} ({job.id}, {job.state})" for job in candidates or jobs)
        if candidates:
            what = f"several jobs are called {wanted!r}" if wanted else "it has several jobs"
            raise AmbiguousJobError(f"{rest.base}: {what}, name one by its id: {listed}")
        hint = did_you_mean(wanted, [job.name for job in jobs])
        raise JobNotFoundError(
            f"{rest.base} has no job {wanted!r}; it has: {listed or 'none'}{hint}"
        )

    def snapshots(self) -> list[LiveSnapshot]:
        """Its completed checkpoints and savepoints, the newest first."""
        statistics = self.rest.get("jobs", self.id, "checkpoints")
        latest = object_of(statistics, "latest")
        told = [
            *(object_of(latest, name) for name in ("completed", "savepoint")),
            *objects_of(statistics, "history"),
        ]
        by_id: dict[int, LiveSnapshot] = {}
        for entry in told:
            if entry.get("status") == "COMPLETED":
                snapshot = self._snapshot(entry)
                by_id.setdefault(snapshot.id or 0, snapshot)
        return [by_id[number] for number in sorted(by_id, reverse=True)]

    def _snapshot(self, told: Answer) -> LiveSnapshot:
        at = milliseconds_of(told, "trigger_timestamp") / 1000
        path = text_of(told, "external_path")
        return LiveSnapshot(
            self.name,
            self.id,
            self.state,
            number_of(told, "id"),
            "savepoint" if told.get("is_savepoint") else "checkpoint",
            f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}Z",
            max(0, int(time.time() - at)),
            number_of(told, "state_size"),
            "" if path == _NOT_ADDRESSABLE else path,
            bool(told.get("discarded")),
        )

    def latest(self) -> LiveSnapshot | None:
        """Its newest completed checkpoint or savepoint with a path; None if all are deleted.

        Raises ``SavepointNotFoundError`` if there was none, with what the cluster has instead.
        """
        known = self.snapshots()
        for snapshot in known:
            if snapshot.path and not snapshot.is_discarded and not is_live(snapshot.path):
                return snapshot
        if any(snapshot.path for snapshot in known):
            return None
        if known:
            raise SavepointNotFoundError(
                f"job {self.name} keeps its checkpoints in the memory of the job manager, where no path"
                f" leads: {_TRIGGER}, or set execution.checkpointing.dir"
            )
        raise SavepointNotFoundError(
            f"job {self.name} ({self.id}, {self.state}) has no completed checkpoint or savepoint yet: {_TRIGGER}"
        )

    def names(self) -> dict[str, str]:
        """Hash of an operator -> the name of its vertex, for operators that begin a vertex."""
        vertices = objects_of(self.rest.get("jobs", self.id), "vertices")
        named = {text_of(vertex, "id"): text_of(vertex, "name") for vertex in vertices}
        return {vertex: name for vertex, name in named.items() if name and _ID.fullmatch(vertex)}


def _jobs(rest: RestInterface) -> Iterator[LiveJob]:
    for job in objects_of(rest.get("jobs", "overview"), "jobs"):
        if not _ID.fullmatch(text_of(job, "jid")):
            raise ClusterError(
                f"{rest.base} does not answer like Flink's REST interface: {job!r:.100}"
            )
        yield LiveJob(rest, job["jid"], text_of(job, "name"), text_of(job, "state"))


def open_latest(
    address: str,
    rules: PathRules,
    opened: Callable[[str, SnapshotDirectory, bytes, Mapping[str, str]], SnapshotT],
) -> SnapshotT:
    """The latest snapshot of a job, opened with the headers of all its state.

    Asks the cluster again, for a few seconds, if the checkpoint that it names is gone, or a file of
    its headers is.

    Args:
        address: The job, ``flink://host:8081/JOB``.
        rules: Paths that the cluster may name.
        opened: Opens a snapshot: path, directory, ``_metadata``, and names of operators by hash.

    Raises:
        SavepointNotFoundError: The job has no snapshot yet, or no path leads to it from here.
        JobNotFoundError, AmbiguousJobError: The address names no job, or several.
        ClusterError, UnreachableError: The cluster refuses, or does not answer.
    """
    job = LiveJob.of(address)
    names = job.names()
    problem = f"job {job.name} has deleted all snapshots that it names"
    end = time.monotonic() + _PATIENCE_SECONDS
    is_last = False
    while not is_last:
        is_last = time.monotonic() >= end
        latest = job.latest()
        if latest is not None:
            path = allowed_path(latest.path, rules)
            try:
                directory = SnapshotDirectory.of(path, rules)
                data = directory.read_metadata()
            except SavepointNotFoundError as error:
                problem = str(error)
            else:
                snapshot = opened(path, directory, data, names)
                if is_last or _has_headers(snapshot):
                    message = (
                        f"{address}: {latest.path} is read, the newest of job {job.name}. A job"
                        f" removes its older checkpoints: {_TRIGGER} that stays"
                    )
                    warnings.warn(message, NewestSnapshotWarning, stacklevel=4)
                    return snapshot
        if not is_last:
            time.sleep(_POLL_SECONDS)
    raise SavepointNotFoundError(
        f"{problem}; the cluster names this path, which may be on its own machines, or deleted"
        f" already: {_TRIGGER} that stays"
    )


def _has_headers(snapshot: Snapshot) -> bool:
    """Whether all files with headers of state are there; reads the headers, which the snapshot keeps.

    Flink deletes the files of an older checkpoint at the same time: state may go before ``_metadata``.
    """
    return not any(
        isinstance(problem.error, StateFileNotFoundError)
        for operator in snapshot.operators()
        for problem in operator.catalog.problems
    )


def live_snapshots(address: str) -> list[LiveSnapshot]:
    """The jobs of a cluster with their checkpoints and savepoints, a row each; the newest first.

    A job without any snapshot has a row, too.

    Args:
        address: The cluster, ``flink://host:8081``, or one of its jobs, ``flink://host:8081/JOB``.

    Raises:
        JobNotFoundError, AmbiguousJobError: The address names no job, or several.
        ClusterError: The cluster refuses, or does not answer as Flink does.
        UnreachableError: It does not answer.
        ValueError: The text is not such an address.

    Example:
        >>> [one.path for one in live_snapshots("flink://localhost:8081") if one.kind == "savepoint"]
    """
    if not is_live(address):
        raise ValueError(
            f"{address!r} is not the address of a cluster, such as flink://localhost:8081"
        )
    rest, wanted = RestInterface.of(address)
    jobs = [LiveJob.of(address)] if wanted else list(_jobs(rest))
    return [
        row
        for job in jobs
        for row in job.snapshots() or [LiveSnapshot(job.name, job.id, job.state)]
    ]


def take_savepoint(
    address: str,
    directory: str = "",
    *,
    on_progress: Callable[[str], None] | None = None,
    allow_paths: Iterable[PathText] = (),
) -> str:
    """Makes a running job take a canonical savepoint, waits for it, and returns its path.

    The job goes on. If the wait ends early, the cluster still completes the savepoint.

    Args:
        address: The job, ``flink://host:8081/JOB``.
        directory: Where the savepoint is made; by default where the cluster makes them.
        on_progress: Gets a line whenever something changes.
        allow_paths: Stores that the cluster may name, as in ``Savepoint.open``; the one of ``directory`` may
            be named as well.

    Raises:
        JobNotFoundError, AmbiguousJobError: The address names no job, or several.
        ClusterError: The cluster refuses, or the savepoint failed, or the cluster names a path that is
            not allowed.
        UnreachableError: It does not answer.

    Example:
        >>> Savepoint.open(take_savepoint("flink://localhost:8081/orders"))
    """
    job = LiveJob.of(address)
    rules = PathRules.of([*allow_paths, *filter(None, [directory])])
    body: Answer = {"cancel-job": False, "formatType": "CANONICAL"}
    if directory:
        body["target-directory"] = directory
    request = text_of(job.rest.post(body, "jobs", job.id, "savepoints"), "request-id")
    told = ""
    while True:
        answer = job.rest.get("jobs", job.id, "savepoints", request)
        status = text_of(object_of(answer, "status"), "id")
        if status == "COMPLETED":
            return allowed_path(_location(job, object_of(answer, "operation")), rules)
        if status != "IN_PROGRESS":
            raise ClusterError(f"the savepoint of job {job.name} is {status or 'unknown'}")
        line = _progress(job)
        if on_progress is not None and line != told:
            on_progress(line)
            told = line
        time.sleep(_POLL_SECONDS)


def _location(job: LiveJob, operation: Answer) -> str:
    cause = object_of(operation, "failure-cause")
    location = text_of(operation, "location")
    if cause or not location:
        told = (text_of(cause, name).strip() for name in ("stack-trace", "class"))
        trace = next(filter(None, told), "no reason told")
        reasons = [line.strip() for line in trace.splitlines() if line.startswith("Caused by: ")]
        reason = (reasons or trace.splitlines())[-1]
        raise ClusterError(f"job {job.name} could not take a savepoint: {reason}")
    return location


def _progress(job: LiveJob) -> str:
    """Progress of a savepoint under way, in a line."""
    for entry in objects_of(job.rest.get("jobs", job.id, "checkpoints"), "history"):
        if entry.get("status") == "IN_PROGRESS" and entry.get("is_savepoint"):
            done, all_of_them = entry.get("num_acknowledged_subtasks"), entry.get("num_subtasks")
            return f"savepoint {entry.get('id')} of {job.name}: {done} of {all_of_them} subtasks"
    return f"savepoint of {job.name}: waiting"
