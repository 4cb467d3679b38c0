"""Commands that write state of Flink 1 for Flink 2, and print the classes to describe for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
from click.core import ParameterSource

from savepoint_cli import completion, options
from savepoint_cli.modify import writes
from savepoint_cli.terminal import progress
from savepoint_database import types
from savepoint_extensions.upgrade.flink_releases import RELEASES
from savepoint_extensions.upgrade.from_scala import ScalaTarget
from savepoint_formats.errors import MigrationError
from savepoint_formats.printable import printable

if TYPE_CHECKING:
    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal import Output
    from savepoint_extensions.upgrade.flink_releases import FlinkRelease
    from state_processor import SavepointWriter

_OF_MIGRATION = {
    "target": "--target",
    "scala": "--scala",
    "sources": "--sources",
    "without_topics": "--without-topic",
    "allow_empty": "--allow-empty",
}
"""Options of ``migrate`` that change nothing within a release."""


@options.inspection()
@click.option(
    "--jar",
    "jars",
    multiple=True,
    type=click.Path(),
    help="A jar, or a directory of class files, to take fields from. Repeatable.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    type=click.Path(),
    help="A directory with .java files to take fields from; needs the extra java. Repeatable.",
)
def classes(
    output: Output, opening: Opening, jars: tuple[str, ...], sources: tuple[str, ...]
) -> None:
    """Print the classes that you must describe, as YAML to fill in.

    Needs the extra "spark", but starts no Spark. No serializer describes these classes: Kryo wrote their objects, or they extend a POJO. The
    command reads all Kryo objects and POJOs in the savepoint at PATH, but can't read past an object
    of an unknown class. So fill in the fields, pass the file with --classes, and repeat. For Flink
    1, the list also has POJOs with collections whose element types migrate can't infer. The job's
    class files or sources fill in the fields; they are parsed, never loaded or run.

    \b
    savepoint classes s3://jobs/flink-1.20
    savepoint classes s3://jobs/flink-1.20 --jar app.jar
    savepoint classes s3://jobs/flink-1.20 --source src/main/java
    """
    savepoint, reason = opening.open(), None
    with progress.counting(f"Looking for classes in {opening.path}", "values") as on_progress:
        if jars or sources:
            savepoint = savepoint.with_classes_of(jars, sources=sources, on_progress=on_progress)
            reason = types.ClassLibrary.of(jars, sources).reason
        unknown = savepoint.classes_to_describe(on_progress)
    output.text({}, types.class_descriptions_text(savepoint.kryo.classes, unknown, reason))


@options.inspection()
@click.option(
    "--target",
    type=click.Choice(RELEASES),
    default="2.2",
    show_default=True,
    help="The Flink release that restores it; the result is the same for all of 2.x.",
)
@click.option(
    "--skip-state",
    multiple=True,
    metavar="OPERATOR/STATE",
    shell_complete=completion.operator_states,
    help="A state to leave out. Repeatable.",
)
@click.option(
    "--rename-class",
    "rename_classes",
    multiple=True,
    metavar="OLD=NEW",
    callback=options.pairs("OLD=NEW"),
    help="A class that has a new name in the Flink 2.x job. Repeatable.",
)
@click.option(
    "--scala",
    type=click.Choice(get_args(ScalaTarget)),
    help="What to turn state of Flink's own Scala API into: state of flink-scala-api (flinkx), or"
    " Java state with case classes as POJOs or rows.",
)
@click.option(
    "--sources",
    type=click.Choice(["new", "keep"]),
    default="new",
    show_default=True,
    help="Whether state of FlinkKafkaConsumer and FlinkKafkaProducer becomes that of KafkaSource and"
    " KafkaSink, or stays, and must be left out by --skip-state.",
)
@options.without_topics
@options.allow_empty
@click.option(
    "--to-pojo",
    multiple=True,
    metavar="CLASS",
    help="Within the release: write this class, which --classes describes, as a POJO. Repeatable.",
)
@click.option(
    "--collections",
    is_flag=True,
    help="Within the release: write lists, maps and sets of Kryo with Flink's own serializers, and"
    " those that Kryo can't read back as ArrayList and the like.",
)
@writes
def migrate(
    writer: SavepointWriter,
    target: FlinkRelease,
    skip_state: tuple[str, ...],
    rename_classes: dict[str, str],
    **chosen: Any,
) -> SavepointWriter:
    """Copy the Flink 1.x savepoint at PATH to OUT, so that Flink 2.x restores it.

    With --to-pojo or --collections, the release stays, whichever it is, and only values of Kryo change.

    Spark rewrites Kryo objects for Kryo 5, and the List, Map and Set fields of POJOs for Flink
    2.x's own serializers. Offsets of FlinkKafkaConsumer become those of KafkaSource, and unfinished
    commits of FlinkKafkaProducer those of KafkaSink. Everything else is copied. The command refuses states that it can't
    migrate, and lists them all, unless --skip-state leaves them out.

    \b
    savepoint migrate s3://jobs/flink-1.20 s3://jobs/flink-2.2 --target 2.2
    """
    for skipped in skip_state:
        operator, slash, state = skipped.rpartition("/")
        if not slash:
            raise click.UsageError(f"--skip-state {skipped}: expected OPERATOR/STATE")
        writer = writer.remove_state(operator, state)
    if chosen["to_pojo"] or chosen["collections"]:
        context = click.get_current_context()
        for name, option in _OF_MIGRATION.items():
            if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
                raise click.UsageError(f"--to-pojo and --collections go without {option}")
    try:
        return writer.migrate(target, rename_classes=rename_classes, **chosen)
    except MigrationError as error:
        lines = "".join(f"\n  {printable(problem)}" for problem in error.problems)
        hint = "savepoint classes prints the classes to describe; --skip-state leaves a state out."
        is_within = chosen["to_pojo"] or chosen["collections"]
        what = "This state can't change yet" if is_within else "Flink 2.x can't have this state yet"
        raise click.ClickException(f"{what}:{lines}\n{hint}") from error


@options.inspection("change-avro")
@options.operator
@options.state
@click.argument("schema", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@writes
def change_avro(
    writer: SavepointWriter, operator: str, state: str, schema: Path
) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, with the values of a STATE of Avro in another SCHEMA.

    SCHEMA is a file (avsc) with the schema of the new job. Values are written as Avro's schema
    resolution reads them: fields are added with their defaults, dropped, renamed by aliases, and widened.
    The state's values, its elements, or its map values are GenericRecord or a generated class.

    \b
    savepoint change-avro s3://jobs/savepoint-1a2b visits visit visit-2.avsc s3://jobs/visits-2
    """
    return writer.change_avro(operator, state, schema.read_text("utf-8"))
