"""Commands that look: none of them reads bulk data, none starts Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import click

import state_processor
from savepoint_cli import completion
from savepoint_cli.options import inspection, open_savepoint
from savepoint_cli.terminal.help import command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_cli.terminal.output import Output
    from savepoint_database.files.schema_texts import SchemaForm
    from savepoint_database.snapshot.description import OperatorDescription


@command()
@inspection
def describe(output: Output, path: str, **uids: Any) -> None:
    """Show what is in the savepoint at PATH: its format, its operators, their states.

    \b
    savepoint describe s3://jobs/orders/savepoint-1a2b --uid summarize
    """
    description = open_savepoint(path, **uids).describe()
    output.page(
        description,
        ("Operators", description.operators),
        ("States", description.states()),
        digest=[_digest(description.operators)],
    )


@dataclass(frozen=True, slots=True)
class _OperatorLine:
    """What of an operator one line tells. ``size`` is in bytes."""

    operator: str
    size: int
    states: tuple[str, ...]
    problems: tuple[str, ...]

    @classmethod
    def of(cls, operator: OperatorDescription) -> Self:
        # What timers of event and processing time are stored as is long, and says no more.
        names = (
            "timers" if state.kind.endswith("timers") else state.state for state in operator.states
        )
        return cls(
            operator.uid or operator.hash,
            operator.keyed_size + operator.operator_size,
            tuple(dict.fromkeys(names)),
            operator.problems,
        )


def _digest(operators: Sequence[OperatorDescription]) -> tuple[str, Sequence[_OperatorLine]]:
    """The operators with state, a line each, for a screen that has no room for all there is."""
    lines = [
        _OperatorLine.of(operator) for operator in operators if operator.states or operator.problems
    ]
    return f"Operators with state ({len(lines)} of {len(operators)})", lines


@command("list")
@inspection
def list_tables(output: Output, path: str, **uids: Any) -> None:
    """List the tables of the savepoint at PATH.

    \b
    savepoint list s3://jobs/orders/savepoint-1a2b
    """
    output.rows(f"Tables of {path}", open_savepoint(path, **uids).tables(), whole=["sql"])


@command()
@inspection
@click.argument("table", required=False, shell_complete=completion.tables)
@click.option(
    "--format",
    "--as",
    "form",
    metavar="FORMAT",
    type=click.Choice(["ddl", "avro", "json-schema", "pyflink", "spark"]),
    help="Print the schema of TABLE to copy, as ddl (CREATE TABLE of Flink), avro, json-schema,"
    " pyflink (descriptors) or spark.",
)
def schema(
    output: Output, path: str, table: str | None, form: SchemaForm | None, **uids: Any
) -> None:
    """Show the columns of TABLE, or of all tables, with their types in Spark's words.

    \b
    savepoint schema s3://jobs/orders/savepoint-1a2b summarize.keyed_state --uid summarize
    savepoint schema s3://jobs/orders/savepoint-1a2b summarize.keyed_state --format ddl
    """
    if form is not None:
        if table is None:
            raise click.UsageError("--format is about one table: name it")
        text = state_processor.schema_text(open_savepoint(path, **uids), table, form)
        output.text({"table": table, "form": form}, text)
        return
    output.rows(f"Columns of {table or path}", open_savepoint(path, **uids).schema(table))


@command()
@inspection
def files(output: Output, path: str, **uids: Any) -> None:
    """List every file of the savepoint at PATH, who refers to it, and what is missing.

    \b
    savepoint files s3://jobs/orders/savepoint-1a2b --output json
    """
    output.rows(f"Files of {path}", open_savepoint(path, **uids).files())
