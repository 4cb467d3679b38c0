"""A Spark session on this machine, for users without one."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from savepoint_formats.extras import imported, too_old
from savepoint_spark.session.java_process import folder_settings, leave_folder_to_java, start_java
from savepoint_spark.session.java_runtime import ensure_java
from savepoint_spark.workers.start import forked_workers, safe_imports

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Absolute, because Spark puts an archive on the path by a relative name.
_LOGGING = Path(__file__).absolute().with_name("log4j2.properties")
_LOGGING_OPTION = f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"

# The default on a Mac has the current directory, and Spark looks for Hadoop's library by its name.
_LIBRARIES_OPTION = "-Djava.library.path=/Library/Java/Extensions:/usr/lib/java"

# More tasks than any cluster runs.
_NUMBERS = 1 << 20

_DEFAULTS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # Writing to the local disk is faster than compressing.
    "spark.shuffle.compress": "false",
    # 200 by default, each of which starts workers: too many for one machine.
    "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
}


def expect_session(spark: SparkSession, call: str) -> None:
    """Raises ``TypeError`` for anything but a session; ``call`` shows the right call.

    If its tasks run a Python without this package, raises ``MissingPackageError``.
    """
    if not hasattr(spark, "createDataFrame"):
        raise TypeError(
            f"{spark!r} is not a session of Spark: call Savepoint.{call} with spark = local_session(),"
            " or Savepoint.open(path), which needs none"
        )
    from savepoint_spark.session.worker_python import expect_package  # noqa: PLC0415  # Spark is slow

    expect_package(spark)


def expect_release(needed: str, use: str) -> None:
    """Raises ``MissingPackageError`` if this PySpark is older than a use needs."""
    if not is_at_least(needed):
        raise too_old("pyspark", needed, use)


def is_at_least(release: str) -> bool:
    """Whether this PySpark is of a release such as ``4.0``, or a later one."""
    import pyspark  # noqa: PLC0415  # Spark is slow to import

    have, least = (
        [int(number) for number in text.split(".")[:2]] for text in (pyspark.__version__, release)
    )
    return have >= least


def local_session(master: str = "local[*]", **settings: str) -> SparkSession:
    """A session on this machine, with the machine's Java or a packaged one.

    A setting ``spark.driver.extraJavaOptions`` replaces the options that this function gives to Java.

    On Linux its Python workers are forked from a process that has imported what they need. That
    process ends with this one. It needs the Spark and the Python of this process: if ``SPARK_HOME``
    or ``PYSPARK_PYTHON`` name others, Spark starts its workers itself.

    Args:
        master: Spark's master.
        settings: Settings of Spark, dots written as two underscores; they override ours.

    Raises:
        MissingPackageError: PySpark is not installed.
        RuntimeError: There is no Java, and no package has one.
        JobError: Java did not start, for instance because of a setting.

    Example:
        >>> spark = local_session(spark__driver__memory="4g")
    """
    active_session = imported("pyspark.sql").SparkSession.getActiveSession
    ensure_java()
    # Workers must find what this interpreter finds, whether or not its environment is active.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    asked = {
        "spark.master": master,
        "spark.app.name": "savepoint",
        **{name.replace("__", "."): value for name, value in settings.items()},
    }
    if active_session() is not None:
        return _session(asked)
    with safe_imports(), forked_workers(master):
        # On a cluster, workers have folders of their own.
        folder = folder_settings(is_alone=master.startswith("local"))
        of_mac = (_LIBRARIES_OPTION,) if sys.platform == "darwin" else ()
        own = folder["spark.driver.extraJavaOptions"]
        options = (_LOGGING_OPTION, own, *of_mac)
        ours = {
            **_DEFAULTS,
            **folder,
            "spark.driver.extraJavaOptions": " ".join(options),
            "spark.driver.memory": f"{_heap_size() >> 20}m",
        }
        start_java({**ours, **asked})
        spark = _session({**ours, **asked})
        leave_folder_to_java()
        return spark


def _session(settings: dict[str, Any]) -> SparkSession:
    from pyspark.sql import SparkSession  # noqa: PLC0415  # Spark is slow to import

    spark = SparkSession.builder.config(map=settings).getOrCreate()
    # These loggers print every error of a query as JSON, before the error itself is raised.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return spark


def is_remote(spark: SparkSession) -> bool:
    """Whether a session is one of Spark Connect, whose Java is in another process."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def remote_error(what: str) -> ValueError:
    """The error for calls that Spark Connect can't serve."""
    return ValueError(
        f"{what}: Spark Connect does not support that; use a session in the process of"
        " the driver, such as local_session()"
    )


def tasks_at_once(spark: SparkSession) -> int:
    """The number of tasks that a session runs at once."""
    if not is_remote(spark):
        return spark.sparkContext.defaultParallelism
    # By default, Spark divides numbers into as many partitions.
    ids = spark.range(_NUMBERS).selectExpr("spark_partition_id() AS id")
    (last,) = ids.selectExpr("max(id)").collect()[0]
    return int(last) + 1


@dataclass(frozen=True, slots=True)
class TaskCount:
    """The numbers of finished tasks and of all tasks in the running stages of a session."""

    done: int
    total: int


def task_count(spark: SparkSession) -> TaskCount:
    """Progress of a session with its current stages.

    Raises:
        ValueError: It is one of Spark Connect, which does not report progress.
        JobError: Its Java has ended.

    Example:
        >>> task_count(spark)
        TaskCount(done=3, total=8)
    """
    if is_remote(spark):
        raise remote_error("the number of tasks")
    from savepoint_spark.session.tasks import typed_errors  # noqa: PLC0415  # Spark is slow

    with typed_errors():
        tracker = spark.sparkContext.statusTracker()
        infos = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    stages = [stage for stage in infos if stage is not None]
    done = sum(stage.numCompletedTasks for stage in stages)
    return TaskCount(done, sum(stage.numTasks for stage in stages))


def _heap_size() -> int:
    """The memory limit of Java in bytes: a quarter of the machine's, within limits."""
    # Spark's default of 1 GiB is little for a session that does all the work itself.
    quarter = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
    return min(max(quarter, 1 << 30), 4 << 30)
