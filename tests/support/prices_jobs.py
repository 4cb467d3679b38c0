"""Runs the jobs of ``tests/flink/plugin_job``, whose state has serializers of the shop's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from support.java_jobs import JavaJobs, begun_with

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KEYS = 40
UID = "prices"


@dataclass(frozen=True, slots=True)
class PricesJob:
    """A job to run.

    Attributes:
        savepoint: The savepoint that it begins with; empty to begin without state.
        backend: ``hashmap`` or ``rocksdb``.
        form: ``CANONICAL`` or ``NATIVE``, of its own savepoint.
    """

    savepoint: str = ""
    backend: str = "hashmap"
    form: str = "CANONICAL"


def run_prices(release: str, folder: Path, jobs: Sequence[PricesJob]) -> list[dict[str, Any]]:
    """Runs jobs in one cluster; each gives its ``savepoint`` and what was ``seen``, or an ``error``."""
    target = (folder / "savepoints").as_uri()
    arguments = (
        text
        for job in jobs
        for text in (begun_with(job.savepoint), job.backend, job.form, str(KEYS), target)
    )
    return JavaJobs(release, folder, "plugin_job", "shop.PricesJobs").run(arguments)
