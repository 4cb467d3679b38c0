"""Commands that keep personal data out of savepoints: masks, samples, and the search for values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from savepoint_cli import completion, option_groups, options
from savepoint_cli.engine import started_session
from savepoint_cli.modify import (
    Destination,
    dry_run_option,
    overwrite_option,
    prints_change,
    writes,
)
from savepoint_cli.opening import usage_errors
from savepoint_database import files
from savepoint_formats.printable import fields_of
from savepoint_formats.shared_names import without_shared

if TYPE_CHECKING:
    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal import Output
    from savepoint_extensions.privacy.found_values import FoundValues, SearchedSnapshot
    from state_processor import SavepointWriter

_strict = click.option(
    "--strict",
    is_flag=True,
    help="Refuse fields that no rule names, and bytes that can't be decoded.",
)


@options.inspection()
@click.argument("rules", required=False, type=click.Path(exists=True, dir_okay=False))
@option_groups.collected(
    "destination",
    Destination,
    click.argument("out", required=False, default="", shell_complete=completion.paths),
    overwrite_option,
    dry_run_option,
)
@prints_change
@_strict
@click.option("--suggest", is_flag=True, help="Print a draft of RULES, and write nothing.")
@options.count_option(
    "--limit", default=100_000, text="Number of entries that --suggest reads of each state."
)
def mask(
    output: Output,
    opening: Opening,
    destination: Destination,
    rules: str | None,
    limit: int,
    *,
    strict: bool,
    suggest: bool,
) -> None:
    """Copy the savepoint at PATH to OUT, with values masked by the RULES.

    RULES is a YAML file; --suggest drafts it from field names and the forms of texts. Keys can be
    masked, too, and keep their states, windows and timers. Keyed methods take their secret from the
    variable SAVEPOINT_MASK_SECRET, or from the place that RULES name, never from the command line.

    \b
    savepoint mask s3://jobs/savepoint-1a2b --suggest
    savepoint mask s3://jobs/savepoint-1a2b rules.yaml s3://staging/savepoint --strict
    """
    if suggest != (rules is None) or suggest == bool(destination.out):
        raise click.UsageError("pass RULES and OUT, or --suggest alone")
    if rules is None:
        output.text({}, opening.open().mask_suggestions(limit).to_yaml())
        return
    writer = opening.open().masked(rules, strict=strict)
    destination.write(output, writer.with_session(started_session()))


@options.inspection()
@click.option(
    "--fraction",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="FRACTION",
    help="The fraction of keys to take, such as 0.01.",
)
@options.keys
@click.option(
    "--per-key-group",
    type=click.IntRange(1),
    metavar="COUNT",
    help="The number of keys to take from each key group, over all operators.",
)
@click.option(
    "--mask",
    "rules",
    metavar="RULES",
    type=click.Path(exists=True, dir_okay=False),
    help="Mask the sample by these rules, as savepoint mask does.",
)
@writes
@_strict
def sample(
    writer: SavepointWriter,
    fraction: float | None,
    keys: tuple[str, ...] | None,
    per_key_group: int | None,
    rules: str | None,
    *,
    strict: bool,
) -> SavepointWriter:
    """Copy the savepoint at PATH to OUT, with some of its keys and all of their state.

    All operators keep the same keys; with --per-key-group, all with the same max parallelism.
    Operator state stays whole.

    \b
    savepoint sample s3://jobs/savepoint-1a2b /tmp/small --fraction 0.01
    savepoint sample s3://jobs/savepoint-1a2b /tmp/small --per-key-group 1 --mask rules.yaml
    """
    given = (fraction, keys, per_key_group)
    if sum(argument is not None for argument in given) != 1:
        raise click.UsageError("pass one of --fraction, --key and --per-key-group")
    writer = writer.with_session(started_session())
    sampled = writer.sample(fraction, keys=keys, per_key_group=per_key_group)
    return sampled if rules is None else sampled.masked(rules, strict=strict)


@options.inspection("find")
@click.argument("values", metavar="VALUE", nargs=-1)
@click.option(
    "--values-file",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="A file with a value per line; this keeps values out of the shell's history.",
)
@click.option(
    "--snapshots", "is_all", is_flag=True, help="Search all snapshots below the directory PATH."
)
@click.option("--contains", is_flag=True, help="Find texts that contain a value, too.")
@click.option(
    "--save",
    metavar="FILE",
    type=click.Path(dir_okay=False, writable=True),
    help="Write the answer, with values and keys, to FILE for delete-keys --found; FILE is"
    " replaced.",
)
def find_values(
    output: Output,
    opening: Opening,
    values: tuple[str, ...],
    values_file: str | None,
    save: str | None,
    *,
    is_all: bool,
    contains: bool,
) -> None:
    """Find where the savepoint at PATH has a VALUE: in keys, values, operator state or other bytes.

    All state is read and decoded. Write a VALUE as a text, or as a number or time in the form that
    show prints. Whole files, and bytes that can't be decoded, are searched for the value in UTF-8,
    UTF-16 and the encodings of Flink and Kryo. Exit code 3 means that nothing was found.

    \b
    savepoint find s3://jobs/savepoint-1a2b ada@example.com
    savepoint find s3://jobs/checkpoints --snapshots --values-file ada.txt --save found.json
    """
    wanted = (*values, *_lines(values_file))
    with usage_errors():
        if is_all:
            from savepoint_extensions.privacy.found_values import find  # noqa: PLC0415  # imports Arrow

            answer = find(opening.path, wanted, contains=contains, **opening.settings)
        else:
            answer = opening.open().find(wanted, contains=contains)
    if save is not None:
        with files.whole_file(save, is_overwritten=True) as file:
            file.write(answer.to_json().encode())
    is_short = output.is_for_people and len(answer.snapshots) == 1
    places, note = _short_places(answer, opening) if is_short else (answer.places, "")
    output.page(answer, ("Found", places), ("Searched", list(map(_searched, answer.snapshots))))
    if note:
        click.echo(note)
    if not answer.is_found:
        click.get_current_context().exit(3)


def _short_places(answer: FoundValues, opening: Opening) -> tuple[list[dict[str, Any]], str]:
    """Places without their only snapshot, whose operators lack what all share; and a note on that."""
    uids = [operator.uid or operator.id for operator in opening.open().operators()]
    names, note = without_shared("operator", [place.operator for place in answer.places], uids)
    places = [
        {name: value for name, value in fields_of(place).items() if name != "snapshot"}
        | {"operator": operator}
        for place, operator in zip(answer.places, names, strict=True)
    ]
    return places, note if places else ""


def _searched(snapshot: SearchedSnapshot) -> dict[str, Any]:
    return {
        "path": snapshot.path,
        "checkpoint_id": snapshot.checkpoint_id,
        "entries": snapshot.entries,
        "files": len(snapshot.files),
        "problems": snapshot.problems,
    }


def _lines(path: str | None) -> tuple[str, ...]:
    if path is None:
        return ()
    with click.open_file(path, "rb") as file:
        lines = options.utf8_text(file.read(), path).splitlines()
    return tuple(line for line in lines if line)
