"""Commands that change states, their types, values and keys: the verbs of ``StateChanges``.

Names of operators, states and fields are looked up before Spark starts, so that a slip is told at
once. Changes of fields are tried without Spark; expressions are tried by it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import completion
from savepoint_cli.engine import started_session
from savepoint_cli.modify import destination, write_savepoint
from savepoint_cli.options import (
    inspection,
    open_savepoint,
    undescribed_subclasses_option,
    usage_errors,
)
from savepoint_cli.terminal.help import command, common_option
from savepoint_formats.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_cli.terminal.output import Output
    from savepoint_formats.scan.read_options import UndescribedSubclasses
    from savepoint_formats.values.kinds.nanoseconds import Nanoseconds
    from state_processor import SavepointWriter

    Change = Callable[[SavepointWriter], SavepointWriter]

_operator = click.argument("operator", shell_complete=completion.operators)
_state = click.argument("state", shell_complete=completion.states)
_nanoseconds = common_option(
    "--nanoseconds",
    type=click.Choice(["refuse", "struct", "text"]),
    default="refuse",
    show_default=True,
    help="What times with more digits than microseconds are in expressions; all digits are kept.",
)


@command()
@inspection
@_operator
@click.argument("old", shell_complete=completion.states)
@click.argument("new")
@destination
def rename_state(output: Output, operator: str, old: str, new: str, **options: Any) -> None:
    """Copy the savepoint at PATH to OUT; the state OLD of the OPERATOR is called NEW.

    OPERATOR is a uid, or the hash of one. Values pass through as the bytes that they are, by Spark.

    \b
    savepoint rename-state s3://jobs/savepoint-1a2b summarize total sum s3://jobs/renamed
    """
    changed = _Changed(output, options)
    changed.write(changed.writer.rename_state(operator, old, new))


@command()
@inspection
@click.argument("old")
@click.argument("new")
@click.option(
    "--operator",
    metavar="OPERATOR",
    shell_complete=completion.operators,
    help="Only in this operator, by its uid or the hash of it; in all by default.",
)
@destination
def rename_class(
    output: Output,
    old: str,
    new: str,
    operator: str | None,
    **options: Any,
) -> None:
    """Copy the savepoint at PATH to OUT; the class OLD of Java is called NEW.

    Inner classes have a $ in their names, and are renamed one by one. Values pass through as the
    bytes that they are, by Spark, but for the name where Kryo or a POJO has written it there.
    Bytes that nobody can tell apart are refused, if they hold the name: --classes describes classes.

    \b
    savepoint rename-class s3://jobs/savepoint-1a2b shop.Customer shop.Client s3://jobs/renamed
    """
    changed = _Changed(output, options)
    changed.write(changed.writer.rename_class(old, new, uid=operator))


@command()
@inspection
@_operator
@_state
@click.argument("old")
@click.argument("new")
@destination
@_nanoseconds
@undescribed_subclasses_option
def rename_field(
    output: Output,
    operator: str,
    state: str,
    old: str,
    new: str,
    nanoseconds: Nanoseconds,
    undescribed_subclasses: UndescribedSubclasses,
    **options: Any,
) -> None:
    """Copy the savepoint at PATH to OUT; a field OLD of the POJOs in a STATE is called NEW.

    A field of a POJO inside the POJO is OLD with the fields around it, as address.zip; NEW is the
    name alone. Where the order of names changes, values are encoded anew.

    \b
    savepoint rename-field s3://jobs/savepoint-1a2b stateful customer address.zip code s3://jobs/new
    """
    changed = _Changed(output, options)
    changed.by_fields(
        lambda writer: writer.rename_field(
            operator,
            state,
            old,
            new,
            nanoseconds=nanoseconds,
            undescribed_subclasses=undescribed_subclasses,
        )
    )


@command()
@inspection
@_operator
@_state
@click.argument("field")
@click.argument("field_type", metavar="TYPE")
@click.option(
    "--value",
    metavar="SQL",
    help="What the field holds, an expression over the columns of the state's table; or null.",
)
@destination
@_nanoseconds
@undescribed_subclasses_option
def add_field(
    output: Output,
    operator: str,
    state: str,
    field: str,
    field_type: str,
    value: str | None,
    nanoseconds: Nanoseconds,
    undescribed_subclasses: UndescribedSubclasses,
    **options: Any,
) -> None:
    """Copy the savepoint at PATH to OUT, with one FIELD more in the values of a STATE.

    TYPE is that of a POJO's field, as LONG, STRING or "LIST<INT>"; the next field of a row of SQL
    is f<n>, and its type in SQL's words, as BIGINT. A primitive field of Java needs a --value.

    \b
    savepoint add-field s3://jobs/old stateful customer vip BOOLEAN s3://jobs/new --value "age > 9"
    """
    changed = _Changed(output, options)

    def change(writer: SavepointWriter) -> SavepointWriter:
        column = None if value is None else _pyspark().sql.functions.expr(value)
        return writer.add_field(
            operator,
            state,
            field,
            field_type,
            column,
            nanoseconds=nanoseconds,
            undescribed_subclasses=undescribed_subclasses,
        )

    if value is None:
        changed.by_fields(change)
    else:
        changed.by_spark(operator, state, change)


@command()
@inspection
@_operator
@_state
@click.argument("field")
@destination
@_nanoseconds
@undescribed_subclasses_option
def drop_field(
    output: Output,
    operator: str,
    state: str,
    field: str,
    nanoseconds: Nanoseconds,
    undescribed_subclasses: UndescribedSubclasses,
    **options: Any,
) -> None:
    """Copy the savepoint at PATH to OUT, without a FIELD of the values of a STATE.

    The fields behind that of a row of SQL move up.

    \b
    savepoint drop-field s3://jobs/savepoint-1a2b stateful customer tags s3://jobs/smaller
    """
    changed = _Changed(output, options)
    changed.by_fields(
        lambda writer: writer.drop_field(
            operator,
            state,
            field,
            nanoseconds=nanoseconds,
            undescribed_subclasses=undescribed_subclasses,
        )
    )


@command()
@inspection
@_operator
@_state
@click.argument("field")
@click.argument("field_type", metavar="TYPE")
@destination
@_nanoseconds
@undescribed_subclasses_option
def widen_field(
    output: Output,
    operator: str,
    state: str,
    field: str,
    field_type: str,
    nanoseconds: Nanoseconds,
    undescribed_subclasses: UndescribedSubclasses,
    **options: Any,
) -> None:
    """Copy the savepoint at PATH to OUT; a FIELD gets a TYPE that holds all its values.

    TYPE is as in add-field: LONG for INT, DOUBLE for FLOAT, a DECIMAL of more digits.

    \b
    savepoint widen-field s3://jobs/savepoint-1a2b stateful customer purchases LONG s3://jobs/new
    """
    changed = _Changed(output, options)
    changed.by_fields(
        lambda writer: writer.widen_field(
            operator,
            state,
            field,
            field_type,
            nanoseconds=nanoseconds,
            undescribed_subclasses=undescribed_subclasses,
        )
    )


@command()
@inspection
@_operator
@_state
@click.option(
    "--set",
    "expression",
    metavar="SQL",
    required=True,
    help="The new value, an expression over the columns of the state's table.",
)
@click.option("--where", metavar="SQL", help="Which rows it is for; all by default.")
@destination
@_nanoseconds
@undescribed_subclasses_option
def update_state(
    output: Output,
    operator: str,
    state: str,
    expression: str,
    where: str | None,
    nanoseconds: Nanoseconds,
    undescribed_subclasses: UndescribedSubclasses,
    **options: Any,
) -> None:
    """Copy the savepoint at PATH to OUT, with other values of a STATE.

    SQL is that of Spark. It sees key and all states of the key, or value; "savepoint schema" shows
    them. A key whose new value is null has nothing in the state any more.

    \b
    savepoint update-state s3://jobs/old summarize total s3://jobs/new --set "abs(total)"
    """
    changed = _Changed(output, options)
    changed.by_spark(
        operator,
        state,
        lambda writer: writer.update_state(
            operator,
            state,
            expression,
            where=where,
            nanoseconds=nanoseconds,
            undescribed_subclasses=undescribed_subclasses,
        ),
    )


@command()
@inspection
@_operator
@click.option(
    "--where",
    metavar="SQL",
    required=True,
    help="Which keys: those with a row that fits, in any table that has the columns.",
)
@destination
@undescribed_subclasses_option
def delete_keys(
    output: Output,
    operator: str,
    where: str,
    undescribed_subclasses: UndescribedSubclasses,
    **options: Any,
) -> None:
    """Copy the savepoint at PATH to OUT, without some keys of the OPERATOR.

    All their states, windows and timers go. SQL is that of Spark; it sees the columns of the tables
    of keyed state.

    \b
    savepoint delete-keys s3://jobs/savepoint-1a2b summarize s3://jobs/cleaned --where "total = 0"
    """
    changed = _Changed(output, options)
    changed.by_spark(
        operator,
        None,
        lambda writer: writer.delete_keys(
            operator, where, undescribed_subclasses=undescribed_subclasses
        ),
    )


class _Changed:
    """A savepoint that a command changes, and what the options say of that."""

    def __init__(self, output: Output, options: dict[str, Any]) -> None:
        named = ("out", "overwrite", "dry_run")
        self._output, self._destination = output, {name: options.pop(name) for name in named}
        self.writer: SavepointWriter = open_savepoint(**options).writer()

    def by_spark(self, operator: str, state: str | None, change: Change) -> None:
        """Makes a change that has expressions, which Spark alone knows, and writes the savepoint.

        What is wrong with names is told before Spark starts.
        """
        changed = self.writer.operator(operator).change
        if changed is not None and state is not None:
            changed.state(state)
        self.writer = self.writer.with_session(started_session())
        self.by_fields(change)

    def by_fields(self, change: Change) -> None:
        """Makes a change, and writes the savepoint."""
        with _errors_of_spark():
            with usage_errors():
                writer = change(self.writer)
            self.write(writer)

    def write(self, writer: SavepointWriter) -> None:
        """Writes the savepoint, or says what would be written."""
        write_savepoint(self._output, writer, **self._destination)


def _pyspark() -> Any:
    import pyspark.sql.functions  # noqa: PLC0415  # Spark is slow to import

    return pyspark


@contextmanager
def _errors_of_spark() -> Iterator[None]:
    """Tells of SQL that Spark can't make of the columns as of a wrong call, and of what then fails."""
    errors = _pyspark().errors
    try:
        yield
    except errors.AnalysisException as error:
        raise click.UsageError(_first_line(error)) from error
    except errors.PySparkException as error:
        raise click.ClickException(_first_line(error)) from error


def _first_line(error: Exception) -> str:
    return printable(str(error).strip().partition("\n")[0])
