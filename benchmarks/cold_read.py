"""A process of ``cold_process.py``: reads all rows once through Spark, tells when it had what.

    python benchmarks/cold_read.py FORM PATH STARTED

It imports what a user's program does, and this package, which each of them has a session from.
"""

from __future__ import annotations

import json
import os
import sys
import time

from state_processor import local_session


def main() -> None:
    """Prints seconds since it was started, CPU seconds of all its processes, and totals."""
    form, path, started = sys.argv[1], sys.argv[2], float(sys.argv[3])
    seconds = {"imports": time.time() - started}
    spark = local_session("local[2]")
    seconds["session"] = time.time() - started
    if form == "parquet":
        frame = spark.read.parquet(path)
    elif form == "memory":
        from memory_source import MemorySource  # noqa: PLC0415  # the others do without

        spark.dataSource.register(MemorySource)
        frame = spark.read.format("memory").load(path)
    else:
        frame = spark.read.format("savepoint").option("table", "bench.keyed_state").load(path)
    seconds["frame"] = time.time() - started
    totals = frame.selectExpr("count(key)", "sum(count)", "sum(length(name))").collect()[0]
    seconds["first"] = time.time() - started

    from measure import cpu_seconds, descendants  # noqa: PLC0415  # not before the clock has stopped

    seconds["cpu"] = sum(cpu_seconds(process) for process in descendants(os.getpid()))
    print(json.dumps([seconds, list(totals)]))


if __name__ == "__main__":
    main()
