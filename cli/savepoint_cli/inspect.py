"""Commands that look into a savepoint without Spark."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

import state_processor
from savepoint_cli import options
from savepoint_cli.opening import usage_errors
from savepoint_cli.terminal.help import command, format_option
from savepoint_cli.terminal.output import output_option
from savepoint_database import rows as table_rows
from savepoint_database import snapshot
from savepoint_formats.printable import printable
from savepoint_formats.shared_names import without_shared

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal.output import Output
    from savepoint_database.files.schema_texts import SchemaForm
    from savepoint_database.snapshot import OperatorDescription
    from savepoint_database.types import Times
    from savepoint_formats.scan import UndescribedSubclasses


_SCREEN, _LARGEST = 24, 10
"""Of more operators than a screen has lines, only the largest are shown, and those with problems."""


@options.inspection()
@click.option(
    "--what-fills-metadata",
    is_flag=True,
    help="Show the parts of the file _metadata, the largest first, instead.",
)
def describe(output: Output, opening: Opening, *, what_fills_metadata: bool) -> None:
    """Show what is in the savepoint at PATH: its format, its operators, their states.

    \b
    savepoint describe s3://jobs/orders/savepoint-1a2b --uid summarize
    """
    savepoint = opening.open()
    if what_fills_metadata:
        output.rows(f"_metadata of {opening.path}", savepoint.metadata_parts())
        return
    if savepoint.plan is not None:
        nodes = savepoint.query()
        if output.is_for_people:
            nodes = [replace(it, description="· " * it.depth + it.description) for it in nodes]
        output.rows(f"Query of {opening.path}", nodes)
        return
    description = savepoint.describe()
    output.page(
        description,
        ("Operators", description.operators),
        ("States", description.states()),
        digest=[_digest(description.operators)],
    )


def _digest(operators: Sequence[OperatorDescription]) -> tuple[str, Sequence[Any]]:
    """One line per operator with state, for a screen without room for more."""
    rows: list[dict[str, Any]] = [
        {
            "operator": operator.uid or operator.hash,
            "size": operator.keyed_size + operator.operator_size,
            # The names of stored timers are long and add nothing.
            "states": tuple(
                dict.fromkeys(
                    "timers" if state.kind.endswith("timers") else state.state
                    for state in operator.states
                )
            ),
            "problems": operator.problems,
        }
        for operator in operators
        if operator.states or operator.problems
    ]
    title = f"Operators with state ({len(rows)} of {len(operators)})"
    if len(rows) <= _SCREEN:
        return title, rows
    rows.sort(key=lambda row: (not row["problems"], -row["size"]))
    shown = max(_LARGEST, sum(bool(row["problems"]) for row in rows))
    rest = sum(row["size"] for row in rows[shown:])
    return f"{title}: {shown} of them; the others have {rest:,} bytes", rows[:shown]


@options.inspection("list")
def list_tables(output: Output, opening: Opening) -> None:
    """List the tables of the savepoint at PATH.

    \b
    savepoint list s3://jobs/orders/savepoint-1a2b
    """
    output.rows(f"Tables of {opening.path}", opening.open().tables(), whole=["sql"])


@options.inspection()
@options.optional_table
@format_option(
    "--as",
    "form",
    type=click.Choice(["ddl", "avro", "json-schema", "pyflink", "spark"]),
    help="Print the schema of TABLE as text to copy: ddl (Flink's CREATE TABLE), avro,"
    " json-schema, pyflink (descriptors) or spark.",
)
def schema(output: Output, opening: Opening, table: str | None, form: SchemaForm | None) -> None:
    """Show the columns of TABLE, or of all tables, with their Spark types.

    Without TABLE, --output json prints one object: the columns, and the operators with the states
    that their job declares (kinds, serializer snapshots in base64, max parallelism, backend). Keep
    it in the job's repository: savepoint doctor --job compares a savepoint with it.

    \b
    savepoint schema s3://jobs/orders/savepoint-1a2b summarize.keyed_state --uid summarize
    savepoint schema s3://jobs/orders/savepoint-1a2b summarize.keyed_state --format ddl
    """
    if form is not None:
        if table is None:
            raise click.UsageError("--format needs a TABLE")
        text = state_processor.schema_text(opening.open(), table, form)
        output.text({"table": table, "form": form}, text)
        return
    savepoint = opening.open()
    columns = savepoint.schema(table)
    if table is None and output.is_json:
        described = [asdict(column) for column in columns]
        output.json({**savepoint.job_schema().as_json(), "columns": described})
        return
    title = f"Columns of {table or opening.path}"
    if table is not None and output.explains:
        # A type is useless if it is cut.
        output.explain(title, [(column.column, column.type) for column in columns])
        return
    output.rows(title, columns)


@command("types")
@click.argument("job", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@output_option
def state_types(output: Output, job: str) -> None:
    """Print the types of a PyFlink job's states from its source, as YAML for --types.

    JOB is the Python file with the functions; it is parsed, never run. Savepoints of PyFlink's
    process mode don't have these types. If an operator has no uid in the file, the output has the
    class of its function: replace it with the uid.

    \b
    savepoint types orders.py
    """
    with click.open_file(job, "rb") as file:
        source = options.utf8_text(file.read(), file.name)
    output.text({"job": job}, snapshot.described_job_types(source, job))


@options.inspection()
def files(output: Output, opening: Opening) -> None:
    """List every file of the savepoint at PATH, which state refers to it, and what is missing.

    \b
    savepoint files s3://jobs/orders/savepoint-1a2b --output json
    """
    savepoint = opening.open()
    listed = savepoint.files()
    note = ""
    if output.explains:
        uids = [operator.name for operator in savepoint.operators()]
        shown, note = without_shared("operator", uids, uids)
        short = partial(_shortened, names=dict(zip(uids, shown, strict=True)))
        listed = [replace(it, references=tuple(map(short, it.references))) for it in listed]
    output.rows(f"Files of {opening.path}", listed, whole=["references"])
    if note:
        click.echo(printable(note))


def _shortened(reference: str, names: Mapping[str, str]) -> str:
    """A reference, ``operator subtask: use``, with another name of the operator."""
    head = reference.rpartition(": ")[0]
    name = head if head in names else head.rpartition(" ")[0]
    return names.get(name, name) + reference.removeprefix(name)


@options.inspection()
@options.table
@options.count_option("rows", "-n", "--limit", "--rows", default=20, text="Maximum number of rows.")
@options.keys
@click.option(
    "--where", metavar="SQL", help="A condition in SQL, e.g. \"total > 100 AND key LIKE 'a%'\"."
)
@options.columns
@options.merge_option("For local state: merge a state's instances by sum, min, max or concat.")
@click.option("--with-times", is_flag=True, help="Show the last access of values with TTL.")
@options.times
@options.undescribed_subclasses
def show(
    output: Output,
    opening: Opening,
    table: str,
    rows: int,
    where: str | None,
    merge: dict[str, str],
    times: Times,
    undescribed_subclasses: UndescribedSubclasses,
    **read: Any,
) -> None:
    """Show rows of TABLE of the savepoint at PATH, without Spark.

    \b
    savepoint show s3://jobs/orders/savepoint-1a2b summarize.keyed_state -n 5
    savepoint show s3://jobs/orders/savepoint-1a2b summarize.keyed_state --key 42
    """
    savepoint = opening.open().with_forms(undescribed_subclasses=undescribed_subclasses)
    with usage_errors():
        scan = savepoint.scan(table, merge=merge or None, **read)
        names = scan.schema.names
    output.values(f"Rows of {table}", names, table_rows.first_rows(scan, rows, where, times))
