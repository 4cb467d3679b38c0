"""A driver of Spark that writes on demand, each time in a process that is forked off and may be killed.

It reads an order per line: ``{"way": …, "mode": …, "places": [[source, target, factor], …]}``, and writes to
all places at once. It answers with lines of JSON: the process that writes to each place; for each that lives
so long how it ended; and ``{"idle": true}`` once no task runs any more. What is forked has a connection to Java
of its own. Jobs of Spark have the target as their group.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any

import boto3  # noqa: F401  # a fifth of a second, which each write to a store would take

from faults.commands import COMMANDS, SOURCES
from faults.ways import WAYS, Place
from savepoint_formats.errors import SavepointError
from state_processor import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _tell(**answer: Any) -> None:
    # A single write: what is killed has told all of it, or nothing.
    os.write(1, (json.dumps(answer) + "\n").encode())


def _obey(spark: SparkSession | None, way: str, mode: str, place: Place) -> None:
    end, message = "done", ""
    try:
        if spark is not None:
            spark.sparkContext.setJobGroup(place.target, way)
        (WAYS | COMMANDS | SOURCES)[way].write(spark, place, mode)
    except SavepointError as error:
        end, message = type(error).__name__, str(error)
    except BaseException as error:
        end, message = f"{type(error).__name__}, which is none of ours", traceback.format_exc()
    _tell(ended=end, message=message, target=place.target)


def _forked(spark: SparkSession | None, way: str, mode: str, place: Place) -> int:
    """The process that writes."""
    pid = os.fork()
    if pid:
        _tell(pid=pid)
        return pid
    # A thread has no connection to Java yet; that of this one is the parent's.
    writer = threading.Thread(target=_obey, args=(spark, way, mode, place))
    writer.start()
    writer.join()
    os._exit(0)


def _end_jobs(spark: SparkSession) -> None:
    """Ends what a driver that was killed has left in its Java, which would be dead as well."""
    context = spark.sparkContext
    context.cancelAllJobs()
    tracker = context.statusTracker()
    while tracker.getActiveJobsIds() or _tasks(spark):
        time.sleep(0.02)


def _tasks(spark: SparkSession) -> int:
    """The tasks that run, those of jobs among them that have ended."""
    executors = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    return sum(executor.numRunningTasks() for executor in executors)


def main() -> None:
    settings = dict(setting.split("=", 1) for setting in sys.argv[2:])
    spark = local_session(sys.argv[1], **settings) if sys.argv[1] else None
    _tell(ready=os.getpid())
    for line in sys.stdin:
        order = json.loads(line)
        way, mode, places = order["way"], order["mode"], [Place(*one) for one in order["places"]]
        if mode == "here":
            # What is loaded once is there for all that is forked.
            for place in places:
                _obey(spark, way, "overwrite", place)
        else:
            for pid in [_forked(spark, way, mode, place) for place in places]:
                os.waitpid(pid, 0)
            if spark is not None:
                _end_jobs(spark)
        _tell(idle=True)


if __name__ == "__main__":
    main()
