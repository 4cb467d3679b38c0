"""Watches the checkpoints of a job, in a directory or of a running cluster."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from savepoint_database.snapshot import opening_of
from savepoint_formats.locations import PathRules, is_live, path_text
from state_processor.savepoint.savepoint import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import timedelta

    from savepoint_database.snapshot import GivenType, StateTypes
    from savepoint_database.types import DescribedClasses
    from savepoint_extensions.watch.retained_checkpoints import Place
    from savepoint_extensions.watch.spans import Span
    from savepoint_extensions.watch.watching import Watch
    from savepoint_formats.locations import PathText


def watch(  # noqa: PLR0913  # as Savepoint.open
    directory: PathText,
    *,
    over: Span | None = None,
    after: Span | None = None,
    ttl: Mapping[str, timedelta] | None = None,
    sample_size: int = 1 << 30,
    top: int = 3,
    uids: Iterable[str] = (),
    kryo_classes: DescribedClasses = (),
    allow_paths: Iterable[PathText] = (),
    strict_paths: bool = False,
    key_types: Mapping[str, GivenType] | None = None,
    plan: PathText | None = None,
    types: StateTypes | None = None,
) -> Watch:
    """Watches the checkpoints of a job; each round reads what is new since the last.

    Args:
        directory: Directory of the job's checkpoints, or the one above it, where each restart makes
            another. Or a running job, ``flink://host:8081/JOB``.
        over: Window of checkpoints in which growth is judged; the last 10 by default.
        after: Time in which a job fills its state; the window begins behind it. 10 checkpoints by
            default.
        ttl: Name of a state -> how long its values live after their last access. Checkpoints don't
            store it.
        sample_size: Bytes of an operator's keyed state whose key groups are sampled. A smaller state
            is sampled whole.
        top: Number of keys with the most entries per operator.
        uids: As for ``Savepoint.open``; a checkpoint may lack some operators.
        kryo_classes: As for ``Savepoint.open``.
        allow_paths: As for ``Savepoint.open``.
        strict_paths: As for ``Savepoint.open``.
        key_types: As for ``Savepoint.open``.
        plan: As for ``Savepoint.open``.
        types: As for ``Savepoint.open``.

    Returns:
        A watch: ``round()`` answers about the newest checkpoint, ``rounds()`` goes on.

    Raises:
        ValueError: ``sample_size`` or ``top`` is negative, or ``over`` has too few checkpoints.
        SavepointNotFoundError: The path is empty.

    Example:
        >>> watch("s3://jobs/checkpoints/1a2b").round().states[0].growth_per_day
    """
    from savepoint_extensions.watch.checkpoint_measures import (  # noqa: PLC0415  # loads no extension before it is used
        CheckpointMemory,
        Measuring,
    )
    from savepoint_extensions.watch.retained_checkpoints import RetainedCheckpoints  # noqa: PLC0415
    from savepoint_extensions.watch.spans import AFTER, LEAST_POINTS, OVER  # noqa: PLC0415
    from savepoint_extensions.watch.watching import Watch  # noqa: PLC0415

    if sample_size < 0 or top < 0:
        raise ValueError(f"sample_size is {sample_size} and top {top}, expected 0 or more")
    if over is not None and over.checkpoints is not None and over.checkpoints < LEAST_POINTS:
        raise ValueError(f"over is {over}, expected {LEAST_POINTS} checkpoints or more")
    path = path_text(directory)
    opening: dict[str, Any] = dict(
        opening_of(
            uids=uids,
            kryo_classes=kryo_classes,
            allow_paths=allow_paths,
            strict_paths=strict_paths,
            key_types=key_types,
            plan=plan,
            types=types,
        )
    )
    rules = PathRules.of(opening["allow_paths"], is_strict=strict_paths)
    search = partial(_of_cluster, path, rules) if is_live(path) else RetainedCheckpoints(path)
    ttl_ms = {name: round(life.total_seconds() * 1000) for name, life in (ttl or {}).items()}
    memory = CheckpointMemory(Measuring(sample_size, ttl_ms, top))
    return Watch(
        path, search, partial(Savepoint.open, **opening), memory, over or OVER, after or AFTER
    )


def _of_cluster(address: str, rules: PathRules) -> list[Place]:
    """The checkpoints that a running job names; a job that was renamed is not found."""
    from savepoint_extensions.live_jobs.live_jobs import live_snapshots  # noqa: PLC0415
    from savepoint_extensions.live_jobs.named_paths import allowed_path  # noqa: PLC0415
    from savepoint_extensions.watch.retained_checkpoints import Place  # noqa: PLC0415
    from savepoint_extensions.watch.shown_times import seconds_of  # noqa: PLC0415

    return [
        Place(seconds_of(row.time or ""), row.id or 0, row.job_id, allowed_path(row.path, rules))
        for row in live_snapshots(address)
        if row.kind == "checkpoint" and row.path and not row.is_discarded and not is_live(row.path)
    ]
