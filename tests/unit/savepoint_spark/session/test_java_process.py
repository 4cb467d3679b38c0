"""Shows what Java and its workers say, where a user can do something about it."""

from __future__ import annotations

from savepoint_spark.session.java_process import worth_showing

OF_A_FUNCTION = b"""Traceback (most recent call last):
  File "/jobs/function.py", line 3, in total
    socket.send(rows)
BrokenPipeError: [Errno 32] Broken pipe
"""
OF_THE_DAEMON = b"""Traceback (most recent call last):
  File "/spark/python/lib/pyspark.zip/pyspark/daemon.py", line 95, in worker
    outfile.flush()
BrokenPipeError: [Errno 32] Broken pipe
"""


def shown(said: bytes) -> bytes:
    return b"".join(worth_showing(said.splitlines(keepends=True)))


def test_what_java_says_of_itself_is_left_out() -> None:
    assert shown(b"WARNING: Using incubator modules: jdk\nERROR Lost: a task\n") == (
        b"ERROR Lost: a task\n"
    )


def test_a_worker_that_nobody_listens_to_any_more_ends_in_silence() -> None:
    assert shown(b"before\n" + OF_THE_DAEMON + OF_THE_DAEMON + b"after\n") == b"before\nafter\n"


def test_other_tracebacks_are_shown_as_they_are() -> None:
    assert shown(OF_A_FUNCTION) == OF_A_FUNCTION
    other = OF_THE_DAEMON.replace(b"BrokenPipeError", b"MemoryError")
    assert shown(OF_THE_DAEMON + other + b"after\n") == other + b"after\n"
    assert shown(OF_A_FUNCTION + OF_THE_DAEMON) == OF_A_FUNCTION


def test_workers_of_streams_do_not_tell_their_steps() -> None:
    steps = b"Starting Streaming TransformWithStateInPandas Python worker.\n\n"
    steps += b"Streaming TransformWithStateInPandas Python worker received parameters.\n\n\n"
    assert shown(b"one\n\n" + steps + b"two\n") == b"one\n\ntwo\n"
