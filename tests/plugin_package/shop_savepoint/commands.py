"""The command ``savepoint prices``."""

from __future__ import annotations

import click

from state_processor import Savepoint
from state_processor.plugins import PlugInCommand


@click.command()
@click.argument("path")
def prices(path: str) -> None:
    """Count the states of PATH that hold amounts of money."""
    columns = Savepoint.open(path).schema()
    amounts = [column for column in columns if "currency" in column.type]
    click.echo(f"{len(amounts)} columns hold amounts")


PRICES = PlugInCommand(prices, "Count columns that hold amounts", "Look into a savepoint")
