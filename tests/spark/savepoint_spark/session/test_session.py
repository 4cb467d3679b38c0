"""A session of this machine has the settings that its reads are fast by."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _families(_: int) -> list[socket.AddressFamily]:
    """The families of all sockets that the process has which runs this."""
    families = []
    for entry in Path("/proc/self/fd").iterdir():
        if entry.is_socket():
            opened = socket.socket(fileno=os.dup(int(entry.name)))
            families.append(opened.family)
            opened.close()
    return families


def test_a_worker_and_its_java_share_a_socket_of_the_machine(spark: SparkSession) -> None:
    (families,) = spark.sparkContext.parallelize([0], 1).map(_families).collect()
    assert families
    assert set(families) == {socket.AF_UNIX}
