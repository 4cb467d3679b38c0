"""The package on a cluster: two executors, each a process with its own folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from support import lost_executors
from support.nightly import nightly
from support.spark_processes import spark_home
from support.standalone_cluster import SAMPLE, expected, submitted

if TYPE_CHECKING:
    from pathlib import Path


def test_executors_read_write_and_run_what_one_process_does(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [str(SAMPLE), str(tmp_path / "target")]
    home, master = spark_home(tmp_path), "local-cluster[2,1,1024]"
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    settings = {"spark__executor__extraJavaOptions": quick}
    told = submitted(home, master, *arguments, environment=environment, **settings)
    assert len(told.pop("places")) == 2
    assert told == expected()
    left = [path for path in (tmp_path / "target").rglob("*") if path.name.startswith("runs-")]
    assert left == []


@nightly
def test_results_of_a_run_outlive_executors(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "SPARK_HOME": str(spark_home(tmp_path)),
        "PYSPARK_PYTHON": sys.executable,
    }
    folders = str(tmp_path / "savepoints"), str(tmp_path / "checkpoints")
    done = subprocess.run(
        [sys.executable, lost_executors.__file__, *folders],
        env=environment,
        cwd=tmp_path,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=900,
    )
    of_one, of_all, of_all_with_checkpoints = map(json.loads, done.stdout.splitlines())
    rows, total = lost_executors.ROWS, sum(range(lost_executors.ROWS))
    whole = {"rows": [rows, total], "state": [lost_executors.KEYS, total]}
    assert of_one == whole
    assert of_all["error"] == "JobError"
    assert "executors have died with the results of a function" in of_all["message"]
    assert "setCheckpointDir" in of_all["message"]
    assert of_all_with_checkpoints == whole
