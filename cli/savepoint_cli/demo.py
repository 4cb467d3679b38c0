"""A walk through the commands, with a small savepoint that comes with the package."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import click

from savepoint_cli.terminal.help import command
from savepoint_database import files
from savepoint_formats.errors import SavepointExistsError

_SAMPLE = "currency-2.2.1-hashmap-canonical"

_STEPS = (
    ("What is in it?", ("describe", "{path}")),
    ("Which tables are there, and what does SQL call them?", ("list", "{path}")),
    ("What does a table look like?", ("show", "{path}", "summarize.keyed_state", "-n", "5")),
    ("What does a key have?", ("show", "{path}", "summarize.keyed_state", "--key", "-7")),
    (
        "Which are the largest totals?",
        ("query", "{path}", "SELECT key, total FROM summarize.keyed_state ORDER BY 2 DESC LIMIT 3"),
    ),
    ("Which files does it have?", ("files", "{path}")),
)


def sample() -> Path:
    """The savepoint in the package, or in the sources of the project."""
    packaged = Path(__file__).with_name("sample")
    return (
        packaged if packaged.is_dir() else Path(__file__).parents[2] / "sample_savepoints" / _SAMPLE
    )


@command()
@click.argument(
    "folder", metavar="[OUT]", default="savepoint-demo", type=click.Path(file_okay=False)
)
def demo(folder: str) -> None:
    """Copy a small savepoint to OUT, and walk through the commands.

    Flink 2.2 wrote it for a job that sums payments by account.

    \b
    savepoint demo savepoint-demo
    """
    if Path(folder).exists():
        raise SavepointExistsError(f"{folder} exists already; name another folder")
    with files.writing_errors(folder):
        shutil.copytree(sample(), folder, ignore=shutil.ignore_patterns("expected.json"))
    click.echo(f"{folder} now has a savepoint of Flink 2.2.")
    commands = click.get_current_context().find_root().command
    for question, step in _STEPS:
        arguments = [argument.format(path=folder) for argument in step]
        click.secho(f"\n# {question}", bold=True)
        click.echo(f"$ savepoint {shlex.join(arguments)}")
        commands.main(arguments, prog_name="savepoint", standalone_mode=False)
    click.echo(
        f'\nYour turn: savepoint query {folder} opens a prompt, "savepoint --help" lists all.'
    )
