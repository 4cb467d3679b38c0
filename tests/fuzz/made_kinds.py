"""Savepoints of kinds that no sample has: a real Flink writes them once, for all readers."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from flink_home import CACHE, FlinkHome
from support.async_jobs import AsyncJob, run_jobs
from support.java_jobs import JOBS
from support.plug_ins import example_in
from support.prices_jobs import PricesJob, run_prices
from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable

RELEASE = "2.2.1"
_FOLDER = CACHE / "fuzz"


def _forst(folder: Path) -> None:
    (ended,) = run_jobs(RELEASE, folder, [AsyncJob("", "forst")])
    ended.expect_done()


def _datastream_v2(folder: Path) -> None:
    home = FlinkHome.cached(RELEASE)
    home.install()
    java = home.java(home.compiled([SAMPLES / "job", JOBS / "datastream_job"]), ["-Xmx1g"])
    variants = ("forst-NATIVE", "hashmap-NATIVE", "rocksdb-NATIVE")
    command = [*java, "streams.V2Jobs", folder.as_uri(), *variants]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _plug_ins(folder: Path) -> None:
    jobs = [PricesJob(), PricesJob(backend="rocksdb", form="NATIVE")]
    for answer in run_prices(RELEASE, folder, jobs):
        if "error" in answer:
            raise ValueError(answer["error"])


_JOBS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "forst": ("async_job", _forst),
    "datastream-v2": ("datastream_job", _datastream_v2),
    "plug-ins": ("plugin_job", _plug_ins),
}
"""Kind -> folder of its job, and what runs it."""


def made(kind: str) -> Path:
    """The folder with the savepoints of a kind; a plug-in that reads them can be imported then."""
    sources, job = _JOBS[kind]
    home = FlinkHome.cached(RELEASE)
    home.install()
    # Another version of the job is another folder.
    version = home.compiled([SAMPLES / "job", JOBS / sources]).name
    folder = _FOLDER / f"{kind}-{version}"
    if not folder.exists():
        _FOLDER.mkdir(parents=True, exist_ok=True)
        written = Path(tempfile.mkdtemp(dir=_FOLDER))
        job(written)
        # Another process may have been faster.
        with suppress(OSError):
            written.rename(folder)
    if kind == "plug-ins":
        _use_example(folder.with_name(f"{folder.name}.package"))
    return folder


def _use_example(folder: Path) -> None:
    if not folder.exists():
        example = Path(tempfile.mkdtemp(dir=_FOLDER))
        example_in(example)
        with suppress(OSError):
            example.rename(folder)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
