"""A cluster of Spark on this machine: a master, and workers that share nothing but what a URI names.

As a program it runs ``cluster_job.py`` on a master with two workers, and compares what it tells:

    python tests/support/standalone_cluster.py --ship archives --target disk
    python tests/support/standalone_cluster.py --ship py-files --target s3

Each worker has a working directory, a home and an address of its own, and an environment without
the package, which is shipped as a wheel or as an archive. Its dependencies are installed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

from state_processor import Savepoint
from support import cluster_job
from support.s3_server import S3Server
from support.spark_processes import spark_home

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample_savepoints" / "currency-2.2.1-rocksdb-native"
_INSTALLED = Path(pyspark.__file__).parents[1]
_READY = re.compile(r"(?:Starting Spark master at|registered with master) (spark://\S+)")
_WAIT = 600

# Whatever can be done twice is, on another host.
_SETTINGS = {
    "spark.speculation": "true",
    "spark.speculation.interval": "20ms",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1.0",
    "spark.executor.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


def submitted(
    home: Path, master: str, *arguments: str, environment: Mapping[str, str], **settings: str
) -> dict[str, Any]:
    """Report of ``cluster_job.py`` about a cluster.

    Args:
        home: The home of Spark.
        master: As Spark has it.
        arguments: The savepoint, the target, options.
        environment: That of the driver.
        settings: Settings of Spark, dots written as two underscores; a comma-separated list of
            files to ship is ``spark__submit__pyFiles``.
    """
    command = [str(home / "bin" / "spark-submit"), "--master", master]
    for name, value in {**_SETTINGS, **settings}.items():
        command += ["--conf", f"{name.replace('__', '.')}={value}"]
    command += [cluster_job.__file__, *arguments]
    done = subprocess.run(
        command,
        env={"PYSPARK_PYTHON": sys.executable, **environment, "SPARK_HOME": str(home)},
        cwd=home,
        check=False,
        capture_output=True,
        text=True,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("TOLD ")]
    if done.returncode or not lines:
        raise RuntimeError(f"the job has failed: {done.stdout[-2000:]}{done.stderr[-6000:]}")
    told: dict[str, Any] = json.loads(lines[-1].removeprefix("TOLD "))
    return told


def expected() -> dict[str, list[int]]:
    """Expected report of the job, without its paths."""
    scan = Savepoint.open(str(SAMPLE)).scan("summarize.keyed_state")
    counts = [
        count
        for split in scan.splits()
        for batch in scan.read(split)
        for count in batch.column("count").to_pylist()
    ]
    keys, rows = cluster_job.KEYS, cluster_job.ROWS
    of_key = [sum(range(key, rows, keys)) for key in range(keys)]
    total = [keys, sum(of_key)]
    return {
        "read": [len(counts), sum(counts)],
        "bootstrap": total,
        "change": [keys, sum(of_key) + keys],
        "rescale": total,
        "reader function": total,
        "process": [rows, max(of_key)],
        "transform": total,
        "backlog": [rows, keys],
    }


@contextmanager
def standalone(folder: Path, cores: int = 1) -> Iterator[str]:
    """A master and two workers, whose URI is given; of a host each, so that speculation strikes."""
    with ExitStack() as processes:
        master = ["master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        uri = processes.enter_context(_running(folder / "master", master))
        for host in ("127.0.0.1", "localhost"):
            worker = ["worker.Worker", "--host", host, "--cores", str(cores), "--memory", "1g"]
            worker += ["--webui-port", "0", uri]
            processes.enter_context(_running(folder / f"worker-{host}", worker))
        yield uri


@contextmanager
def _running(folder: Path, command: list[str]) -> Iterator[str]:
    """A process in a folder of its own, once it has told the URI of the master."""
    folder.mkdir()
    home = spark_home(folder)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        # A cluster goes on, however many of its executors die.
        "SPARK_MASTER_OPTS": "-Dspark.deploy.maxExecutorRetries=-1",
    }
    kind, *options = command
    call = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *options]
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(call, cwd=folder, env=environment, stdout=output, stderr=output)
    try:
        yield _told(process, log)
    finally:
        process.terminate()
        process.wait()


def _told(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + _WAIT
    while process.poll() is None and time.monotonic() < deadline:
        match = _READY.search(log.read_text(encoding="utf-8"))
        if match is not None:
            return match[1]
        time.sleep(0.1)
    raise RuntimeError(f"it does not start: {log.read_text(encoding='utf-8')[-2000:]}")


def shipped(how: str, folder: Path) -> dict[str, str]:
    """Builds the package; returns the settings that bring it to drivers and executors."""
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    if how == "py-files":
        # Of archives, Spark puts those on the path of Python whose names end so.
        return {"spark__submit__pyFiles": str(wheel.rename(folder / "packages.zip"))}
    unpacked = folder / "packages"
    shutil.unpack_archive(wheel, unpacked, "zip")
    archive = shutil.make_archive(str(unpacked), "gztar", unpacked)
    return {
        "spark__archives": f"{archive}#packages",
        "spark__executorEnv__PYTHONPATH": "packages",
    }


def bare_python(folder: Path) -> str:
    """A Python that has all that is installed, but the package itself."""
    venv.create(folder / "python", symlinks=True)
    (packages,) = (folder / "python").glob("lib/python*/site-packages")
    # What this file names is looked into for packages, and not for the links of editable ones.
    (packages / "dependencies.pth").write_text(f"{_INSTALLED}\n", encoding="utf-8")
    return str(folder / "python" / "bin" / "python")


def main() -> int:
    """Runs the job once; returns whether it told something else than expected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ship", choices=["py-files", "archives"], default="py-files")
    parser.add_argument("--target", choices=["disk", "s3"], default="disk")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        S3Server.running() if options.target == "s3" else nullcontext() as s3,
        standalone(Path(folder)) as master,
    ):
        settings = shipped(options.ship, Path(folder))
        arguments = [str(SAMPLE), f"{folder}/target"]
        python = bare_python(Path(folder))
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "PYSPARK_PYTHON": python}
        # Drivers plan reads in processes that know nothing of what is shipped.
        is_unpacked = options.ship == "archives"
        environment["PYTHONPATH"] = f"{folder}/packages{'' if is_unpacked else '.zip'}"
        if s3 is not None:
            arguments = [str(SAMPLE), s3.uri(s3.bucket("cluster"), "target"), "--without-backlog"]
            for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
                environment[name] = settings[f"spark__executorEnv__{name}"] = os.environ[name]
        home = spark_home(Path(folder))
        told = submitted(home, master, *arguments, environment=environment, **settings)
    print(json.dumps(told, indent=1))
    wanted = {name: figures for name, figures in expected().items() if name in told}
    return int({name: told[name] for name in wanted} != wanted or len(told["places"]) < 2)


if __name__ == "__main__":
    sys.exit(main())
