"""Commands that change states, their types, values and keys: the verbs of ``StateChanges``.

Names of operators, states and fields are looked up before Spark starts, so that a typo is reported
at once. Changes of fields are tried without Spark, expressions with Spark.
"""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import state_processor
from savepoint_cli import completion, options
from savepoint_cli.engine import started_session
from savepoint_cli.modify import change_destination, errors_of_spark, writes
from savepoint_cli.terminal.help import Command, common_option
from savepoint_database import files

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_cli.modify import Change, Destination
    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal.output import Output
    from state_processor import FoundValues, SavepointWriter

_SQL_OPTIONS = ("value", "expression", "where")
_nanoseconds = common_option(
    "--nanoseconds",
    type=click.Choice(["refuse", "struct", "text"]),
    default="refuse",
    show_default=True,
    help="How expressions see times with nanoseconds; struct and text lose no digit.",
)


_enum_class = click.argument("enum_class", metavar="CLASS")
_of_operator = options.operator_option(
    "Only in this operator, by its uid or the hash of it; in all by default."
)


def _evaluates(change: Change) -> Change:
    """Starts Spark for a change with a SQL option, after looking up the names; sets forms of values."""

    @wraps(change)
    def changed(writer: SavepointWriter, **values: Any) -> SavepointWriter:
        writer = writer.with_forms(**{name: values.pop(name) for name in options.FORMS})
        if any(values.get(name) is not None for name in _SQL_OPTIONS):
            planned = writer.operator(values["operator"]).change
            if planned is not None and "state" in values:
                planned.state(values["state"])
            writer = writer.with_session(started_session())
        return change(writer, **values)

    return changed


def _changes_values(change: Change) -> Callable[..., None]:
    """The options of a command that changes the values of a state."""
    return writes(_nanoseconds(options.undescribed_subclasses(_evaluates(change))))


def _state_command(function: Callable[..., None]) -> Command:
    return options.inspection()(options.operator(options.state(function)))


@options.inspection()
@options.operator
@click.argument("old", shell_complete=completion.states)
@click.argument("new")
@writes
def rename_state(writer: SavepointWriter, operator: str, old: str, new: str) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, with the state OLD of the OPERATOR renamed to NEW.

    OPERATOR is a uid, or the hash of one. Spark copies values as unchanged bytes.

    \b
    savepoint rename-state s3://jobs/savepoint-1a2b summarize total sum s3://jobs/renamed
    """
    return writer.rename_state(operator, old, new)


_OLD_AND_NEW = "OLD and NEW, or pairs OLD=NEW of different classes"


def _class_names(
    context: click.Context, parameter: click.Parameter, words: tuple[str, ...]
) -> dict[str, str]:
    """Old names and new ones, of pairs ``OLD=NEW`` or of two words."""
    if len(words) == 2 and not any("=" in word for word in words):
        return {words[0]: words[1]}
    names: dict[str, str] = options.pairs(_OLD_AND_NEW)(context, parameter, words)
    if len(names) < len(words):
        raise click.BadParameter(f"a class twice, expected {_OLD_AND_NEW}")
    return names


@options.inspection()
@click.argument("renames", nargs=-1, required=True, metavar="OLD=NEW", callback=_class_names)
@_of_operator
@writes
def rename_class(
    writer: SavepointWriter, renames: dict[str, str], operator: str | None
) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, with Java classes renamed: each OLD to NEW.

    A single class may be two words, OLD NEW. Inner classes have a $ in their names; rename each by
    itself. Spark copies values as unchanged bytes, except for the class names that Kryo and POJOs write into them. Bytes that contain the
    name but can't be parsed are refused: describe their classes with --classes.

    \b
    savepoint rename-class s3://jobs/savepoint-1a2b shop.Customer shop.Client s3://jobs/renamed
    savepoint rename-class s3://jobs/old shop.Customer=shop.Client shop.Order=shop.Sale s3://jobs/new
    """
    for old, new in renames.items():
        writer = writer.rename_class(old, new, uid=operator)
    return writer


@options.inspection()
@_enum_class
@click.argument("old")
@click.argument("new")
@_of_operator
@writes
def rename_constant(
    writer: SavepointWriter, enum_class: str, old: str, new: str, operator: str | None
) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, with the constant OLD of the enum CLASS renamed to NEW.

    The constant is renamed wherever an enum serializer names it: in keys, values, fields,
    collections and timers. Values stay as they are, because they have the place of a constant.

    \b
    savepoint rename-constant s3://jobs/old shop.Metric RATE_AT_MOST RATE_BELOW s3://jobs/new
    """
    return writer.rename_constant(enum_class, old, new, uid=operator)


@options.inspection()
@_enum_class
@click.argument("constant")
@_of_operator
@writes
def drop_constant(
    writer: SavepointWriter, enum_class: str, constant: str, operator: str | None
) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, without a CONSTANT of the enum CLASS that nothing uses.

    A constant that is used is refused with the numbers of its values; "savepoint find PATH
    CONSTANT" lists them. Values of the enum are encoded anew, with their new places.

    \b
    savepoint drop-constant s3://jobs/old shop.Metric OLD_ONE s3://jobs/new
    """
    return writer.drop_constant(enum_class, constant, uid=operator)


@_state_command
@click.argument("old")
@click.argument("new")
@_changes_values
def rename_field(
    writer: SavepointWriter, operator: str, state: str, old: str, new: str
) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, with the field OLD of a STATE's POJOs renamed to NEW.

    For a field of an inner POJO, OLD is a path such as address.zip; NEW is the name alone. Values
    are encoded anew if the order of names changes.

    \b
    savepoint rename-field s3://jobs/savepoint-1a2b stateful customer address.zip code s3://jobs/new
    """
    return writer.rename_field(operator, state, old, new)


@_state_command
@click.argument("field")
@click.argument("field_type", metavar="TYPE")
@click.option(
    "--value",
    metavar="SQL",
    help="The field's value, an expression over the columns of the state's table; null by default.",
)
@click.option("--before", metavar="COLUMN", help="The place of a new column in a row of a query.")
@_changes_values
def add_field(
    writer: SavepointWriter,
    operator: str,
    state: str,
    field: str,
    field_type: str,
    value: str | None,
    before: str | None,
) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, with a new FIELD in the values of a STATE.

    TYPE is the type of a POJO's field, such as LONG, STRING or "LIST<INT>". In a SQL row, call the
    new field f<n>, or as you like with --plan, and give it a SQL type, such as BIGINT. A Java
    primitive needs a --value.

    \b
    savepoint add-field s3://jobs/old stateful customer vip BOOLEAN s3://jobs/new --value "customer.age > 9"
    """
    column = None
    if value is not None:
        from pyspark.sql import functions  # noqa: PLC0415  # Spark is slow to import

        column = functions.expr(value)
    return writer.add_field(operator, state, field, field_type, column, before=before)


@_state_command
@click.argument("field")
@_changes_values
def drop_field(writer: SavepointWriter, operator: str, state: str, field: str) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, without the FIELD in the values of a STATE.

    In a SQL row, later fields move up.

    \b
    savepoint drop-field s3://jobs/savepoint-1a2b stateful customer tags s3://jobs/smaller
    """
    return writer.drop_field(operator, state, field)


@_state_command
@click.argument("field")
@click.argument("field_type", metavar="TYPE")
@_changes_values
def widen_field(
    writer: SavepointWriter, operator: str, state: str, field: str, field_type: str
) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, with a wider TYPE for a FIELD.

    TYPE is written as for add-field: LONG for an INT, DOUBLE for a FLOAT, a DECIMAL with more
    digits.

    \b
    savepoint widen-field s3://jobs/savepoint-1a2b stateful customer purchases LONG s3://jobs/new
    """
    return writer.widen_field(operator, state, field, field_type)


@_state_command
@click.option(
    "--set",
    "expression",
    metavar="SQL",
    required=True,
    help="The new value, an expression over the columns of the state's table.",
)
@click.option("--where", metavar="SQL", help="The rows to change; all by default.")
@click.option(
    "--last-access",
    metavar="SQL",
    help="The last access of new values with a time to live: a timestamp or milliseconds, or an array"
    " or a map of them; now by default.",
)
@_changes_values
def update_state(
    writer: SavepointWriter, operator: str, state: str, expression: str, **others: Any
) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, with new values for a STATE.

    Write Spark SQL over the state's table: its columns are key and all states, or value; "savepoint
    schema" shows them. If the new value is null, the key loses its entry.

    \b
    savepoint update-state s3://jobs/old summarize total s3://jobs/new --set "abs(total)"
    """
    return writer.update_state(operator, state, expression, **others)


@options.inspection()
@click.argument("operators", metavar="[OPERATOR]", nargs=-1, shell_complete=completion.operators)
@click.option(
    "--where",
    metavar="SQL",
    help="Delete the keys that have a matching row in any table with these columns.",
)
@click.option(
    "--found",
    "found_file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Delete the keys in the FILE of savepoint find --save, in all operators.",
)
@click.option(
    "--certificate",
    "certificates",
    metavar="FILE",
    multiple=True,
    type=click.Path(dir_okay=False, writable=True),
    help="Search OUT for the found values, and write a certificate: FILE ends in .json or .html."
    " Repeatable.",
)
@click.option(
    "--rewrite",
    is_flag=True,
    help="With --found: write all keyed state anew that may have old versions in files of RocksDB or"
    " a changelog.",
)
@change_destination
@options.undescribed_subclasses
def delete_keys(
    output: Output,
    opening: Opening,
    destination: Destination,
    operators: tuple[str, ...],
    where: str | None,
    found_file: str | None,
    certificates: tuple[str, ...],
    *,
    rewrite: bool,
    **forms: Any,
) -> None:
    """Copy the savepoint at PATH to OUT, without some keys of the OPERATOR.

    Their states, windows and timers are deleted, too. --where is Spark SQL over the columns of
    tables of keyed state. --found deletes keys from all operators where savepoint find found them.
    Exit code 1 means that a certificate still found values, and 3 that a part could not be searched.

    \b
    savepoint delete-keys s3://jobs/savepoint-1a2b summarize s3://jobs/cleaned --where "total = 0"
    savepoint delete-keys s3://jobs/savepoint-1a2b s3://jobs/cleaned --found found.json
    """
    if where is None and found_file is None:
        raise click.UsageError("Missing option '--where' or '--found'.")
    if (where is None) == (found_file is None) or len(operators) != (found_file is None):
        raise click.UsageError("name an OPERATOR and --where, or --found alone")
    if (certificates and found_file is None) or any(
        not path.endswith((".json", ".html")) for path in certificates
    ):
        raise click.UsageError(
            "--certificate needs --found, and a FILE that ends in .json or .html"
        )
    writer = opening.open().writer()
    if found_file is None:
        (operator,) = operators
        writer.operator(operator)
        shown = writer.with_forms(**forms)
        session = shown.with_session(started_session())
        with errors_of_spark():
            destination.write(output, session.delete_keys(operator, str(where)))
        return
    known = state_processor.FoundValues.of_json(
        options.utf8_text(Path(found_file).read_bytes(), found_file), found_file
    )
    session = writer.with_session(started_session())
    destination.write(output, session.erase(known, rewrite=rewrite))
    if certificates and not destination.dry_run:
        after = state_processor.Savepoint.open(destination.out, **opening.settings).find(
            known.values, contains=known.contains
        )
        _certify(known, after, certificates)


def _certify(before: FoundValues, after: FoundValues, paths: tuple[str, ...]) -> None:
    """Writes a certificate; ends the command unless it proves that no value is left."""
    certificate = state_processor.ErasureCertificate.of(before, after)
    for path in paths:
        text = certificate.to_html() if path.endswith(".html") else certificate.to_json()
        with files.whole_file(path, is_overwritten=True) as file:
            file.write(text.encode())
    (out,) = (snapshot.path for snapshot in after.snapshots)
    if certificate.is_erased is False:
        places = ", ".join({place.operator or place.file for place in after.places})
        raise click.ClickException(f"{out} still has found values, in {places}")
    if certificate.is_erased is None:
        problems = ". ".join(certificate.problems_after)
        click.echo(
            f"Unknown: no found value is left in what could be searched. {problems}", err=True
        )
        click.get_current_context().exit(3)
