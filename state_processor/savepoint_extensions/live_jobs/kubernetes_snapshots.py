"""Snapshots that the Kubernetes operator of Flink knows: ``kubectl get flinkstatesnapshot -o json``."""

from __future__ import annotations

import json
from typing import Any

from savepoint_extensions.live_jobs.named_paths import plain_path
from savepoint_formats.errors import DescriptionError, SavepointNotFoundError

_KIND = "FlinkStateSnapshot"


def kubernetes_snapshot(text: str) -> str:
    """The path of the newest completed snapshot in the JSON that ``kubectl`` prints.

    Args:
        text: One ``FlinkStateSnapshot``, or a list of those of one job.

    Raises:
        DescriptionError: It is something else, or the snapshots are of several jobs.
        SavepointNotFoundError: None of them is completed.
        ClusterError: The path has options or credentials, or leads to another cluster.
    """
    try:
        read = json.loads(text)
        listed = read["items"] if read.get("kind") == "List" else [read]
        snapshots = [item for item in listed if item["kind"] == _KIND]
        jobs = {_job(item) for item in snapshots}
        completed = [item["status"] for item in snapshots if _state(item) == "COMPLETED"]
        completed.sort(key=lambda status: str(status.get("resultTimestamp") or ""))
        states = ", ".join(f"{item['metadata']['name']}: {_state(item)}" for item in snapshots[:5])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _nothing(f"{type(error).__name__}: {error}") from error
    if not snapshots:
        raise _nothing(f"no {_KIND}")
    if len(jobs) > 1:
        raise DescriptionError(
            f"the snapshots are of several jobs, {', '.join(sorted(jobs))}: name one snapshot, or select"
            " by a label (kubectl get flinkstatesnapshot NAME -o json)"
        )
    path = completed[-1].get("path") if completed else None
    if not isinstance(path, str) or not path:
        raise SavepointNotFoundError(f"no snapshot is completed; there are {states}")
    return plain_path(path)


def _nothing(reason: str) -> DescriptionError:
    return DescriptionError(
        f"the standard input is not what kubectl get flinkstatesnapshot -o json prints: {reason}"
    )


def _job(snapshot: dict[str, Any]) -> str:
    reference = snapshot["spec"].get("jobReference") or {}
    return f"{reference.get('kind')} {reference.get('name')}"


def _state(snapshot: dict[str, Any]) -> str:
    return str((snapshot.get("status") or {}).get("state") or "no state yet")
