"""The command that shows savepoints in a web browser."""

from __future__ import annotations

import secrets
import socket
from contextlib import closing
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import click

from savepoint_cli import completion, options
from savepoint_cli.terminal import command, options_of
from savepoint_formats.extras import imported
from savepoint_formats.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_cli.opening import Opening

_HOST = "127.0.0.1"


def names_of(paths: Iterable[str]) -> dict[str, str]:
    """A name per path: its last part as it is shown, with a number if another path has the name."""
    named: dict[str, str] = {}
    for path in dict.fromkeys(paths):
        last = printable(PurePosixPath(path.removesuffix("/_metadata")).name) or "savepoint"
        numbered = (f"{last}-{number}" for number in range(2, len(named) + 3))
        named[next(name for name in (last, *numbered) if name not in named)] = path
    return named


@command()
@options.opening_only
@click.argument("others", metavar="[OTHER]", nargs=-1, shell_complete=completion.paths)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    default=0,
    help="The local port; a free one by default.",
)
@options.seconds
@options.memory_limit
def serve(
    opening: Opening, others: tuple[str, ...], port: int, seconds: int, memory_limit: str
) -> None:
    """Show the savepoint at PATH, and each OTHER, in a web browser.

    Needs the extra "serve". The command prints an address with a token; only this machine can open
    it. Pages show operators, rows, keys, sizes, faults and differences, and answer SQL. They change
    nothing. Stop the server with Ctrl-C.

    \b
    savepoint serve s3://jobs/orders/savepoint-1a2b s3://jobs/orders/savepoint-5e6f
    """
    for package in ("jinja2", "starlette", "uvicorn"):
        imported(package)
    from savepoint_extensions.serving.pages import Pages  # noqa: PLC0415  # of the extra "serve"
    from savepoint_extensions.serving.site import application  # noqa: PLC0415
    from savepoint_extensions.serving.workers import Task, Workers  # noqa: PLC0415

    named = names_of((opening.path, *others))
    # This reports a wrong path before the first question.
    paths = {name: replace(opening, path=path).open().path for name, path in named.items()}
    pages = Pages(paths, opening.settings, memory_limit, options_of(serve))
    workers = Workers(Task(pages, seconds))
    with closing(workers), socket.create_server((_HOST, port)) as server:
        port = server.getsockname()[1]
        token = secrets.token_urlsafe(16)
        hosts = frozenset(f"{host}:{port}" for host in (_HOST, "localhost"))
        click.echo(f"http://{_HOST}:{port}/{token}/")
        click.echo("Stop it with Ctrl-C.", err=True)
        uvicorn = imported("uvicorn")
        settings = uvicorn.Config(
            application(paths, workers, token, hosts), log_level="error", lifespan="off"
        )
        uvicorn.Server(settings).run(sockets=[server])
