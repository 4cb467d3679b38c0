"""Writes ``docs/cli.md`` from the ``--help`` of every command: python docs/generate_cli.py."""

from __future__ import annotations

from pathlib import Path

import click

from savepoint_cli.main import main

PAGE = Path(__file__).with_name("cli.md")
WIDTH = 96


def cli_page() -> str:
    """The page: the help of the group, then of each command."""
    parts = ["# The command line\n", _block(main, "savepoint")]
    for name, command in sorted(main.commands.items()):
        parts += [f"## {name}\n", _block(command, f"savepoint {name}")]
    return "\n".join(parts)


def _block(command: click.Command, name: str) -> str:
    context = click.Context(command, info_name=name, terminal_width=WIDTH)
    return f"```text\n{command.get_help(context)}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(cli_page(), encoding="utf-8")
