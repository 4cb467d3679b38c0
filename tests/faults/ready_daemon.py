"""Spark's Python daemon of an executor, which has imported what its workers need before it forks them."""

from __future__ import annotations

from pyspark import daemon

from savepoint_spark.workers import fork_server

if __name__ == "__main__":
    fork_server._prepare()
    daemon.manager()
