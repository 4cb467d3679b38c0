"""The package on a cluster: two executors, each a process with its own folder."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

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
