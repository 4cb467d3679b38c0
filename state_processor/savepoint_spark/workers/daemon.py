"""The program that Spark starts instead of a daemon of its Python workers.

Spark starts a daemon per kind of worker, and each one would import Spark, Pandas and Arrow. This
program hands its streams, environment and folder to the fork server, which forks a ready daemon.
Then it represents that daemon: it ends with the daemon, and passes on Spark's request to end.

If anything fails, it becomes Spark's own daemon. It imports little, and nothing of this package,
because Spark waits for it.

::

    python -S -E daemon.py ADDRESS WORKER_MODULE
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys

NUMBER_SIZE = 8
"""Bytes of a pid or a length between these processes; big-endian."""

# No variable, argument or folder contains it.
_BETWEEN = b"\0"


def main() -> None:
    """Runs until the daemon has ended."""
    _, address, worker = sys.argv
    daemon = _forked(address, worker)
    if daemon is None:
        os.execv(sys.executable, [sys.executable, "-m", "pyspark.daemon", worker])
    _stand_for(daemon)


def send_request(to: socket.socket, worker: str) -> None:
    """Asks the fork server for a daemon with this process's streams, folder and variables."""
    variables = (name + b"=" + value for name, value in os.environb.items())
    text = _BETWEEN.join([worker.encode(), os.getcwdb(), *variables])
    socket.send_fds(to, [len(text).to_bytes(NUMBER_SIZE, "big")], [0, 1, 2])
    to.sendall(text)


def receive_request(sender: socket.socket) -> tuple[list[int], str, bytes, dict[bytes, bytes]]:
    """Streams, worker, folder and variables of ``send_request``; ``ValueError`` if cut off."""
    size, streams, *_ = socket.recv_fds(sender, NUMBER_SIZE, 3)
    with sender.makefile("rb") as rest:
        worker, folder, *variables = rest.read(int.from_bytes(size, "big")).split(_BETWEEN)
    pairs = (variable.partition(b"=") for variable in variables)
    return streams, worker.decode(), folder, {name: value for name, _, value in pairs}


def _forked(address: str, worker: str) -> int | None:
    """A descriptor of the forked daemon's process; None if the fork server makes none."""
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(address)
            send_request(server, worker)
            pid = int.from_bytes(server.recv(NUMBER_SIZE), "big")
        return os.pidfd_open(pid) if pid else None
    except OSError:
        return None


def _stand_for(daemon: int) -> None:
    """Waits until a process has ended, and passes a request to end on to it."""

    def end(*_: object) -> None:
        try:
            signal.pidfd_send_signal(daemon, signal.SIGTERM)
        except ProcessLookupError:
            sys.exit()

    signal.signal(signal.SIGTERM, end)
    # The daemon has them too: Spark must notice when the daemon closes them.
    for stream in range(3):
        os.close(stream)
    poller = select.poll()
    poller.register(daemon, select.POLLIN)
    poller.poll()


if __name__ == "__main__":
    main()
