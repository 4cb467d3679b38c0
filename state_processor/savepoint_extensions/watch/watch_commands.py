"""The command that watches the checkpoints of a running job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

import state_processor
from savepoint_cli import options
from savepoint_cli.terminal import command, output_option
from savepoint_extensions.watch.breaches import idle_lives, uncompared, unjudged
from savepoint_extensions.watch.metrics import Exporter
from savepoint_extensions.watch.threshold_file import Thresholds, threshold_schema

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import timedelta

    from savepoint_cli.opening import Opening
    from savepoint_cli.terminal import Output
    from state_processor import Watch, WatchRound

_HOST = "127.0.0.1"
_MOST_PORT = 65_535
_NOT_READ, _NOT_COMPARED, _BREACHED = 1, 2, 3


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > _MOST_PORT:
        raise click.BadParameter(f"{text!r}, expected a port such as :9250, or HOST:PORT")
    return host or _HOST, int(port)


def _schema(context: click.Context, _parameter: click.Parameter, is_wanted: bool) -> None:
    if is_wanted:
        click.echo(json.dumps(threshold_schema(), indent=2))
        context.exit()


@command()
@options.opening_only
@output_option
@click.option("--once", is_flag=True, help="Look once, and end; for cron.")
@click.option(
    "--thresholds",
    "thresholds_file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Thresholds in YAML; each breach is a line.",
)
@click.option(
    "--remember",
    "sizes_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, writable=True),
    help="With --once: a file that keeps the sizes of earlier runs, made if it is not there.",
)
@click.option(
    "--metrics",
    metavar="PORT",
    callback=options.callback(_address),
    help="Serve metrics for Prometheus at a port of this machine, such as :9250, or at HOST:PORT.",
)
@click.option(
    "--every",
    metavar="DURATION",
    default="60s",
    show_default=True,
    callback=options.callback(options.interval),
    help="Time from one look to the next.",
)
@options.ttl_option("checkpoint")
@options.count_option("--top", default=3, text="Number of keys with the most entries per operator.")
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_schema,
    help="Print the JSON Schema of a file of thresholds, for editors.",
)
def watch(
    output: Output,
    opening: Opening,
    *,
    once: bool,
    thresholds_file: str | None,
    sizes_file: str | None,
    metrics: tuple[str, int] | None,
    every: timedelta,
    **measuring: Any,
) -> None:
    """Show what grows in the checkpoints that a job makes below the directory PATH: size, skew, age.

    PATH is the directory of a job, the one above it, or flink://host:8081/JOB. Only what is new in
    a checkpoint is read. Growth is judged by a line through the last checkpoints.

    --once looks at all retained checkpoints and ends. Exit codes: 0 no breach, 1 a checkpoint
    can't be read, 2 the call is wrong or a threshold is compared with nothing, 3 a threshold is
    breached.

    \b
    savepoint watch s3://jobs/checkpoints/1a2b --metrics :9250
    savepoint watch s3://jobs/checkpoints/1a2b --once --thresholds limits.yaml
    """
    if opening.trigger or opening.trigger_into:
        raise click.UsageError("a watch triggers nothing: leave --trigger out")
    if once and metrics is not None:
        raise click.UsageError("--metrics serves until it is stopped: leave --once out")
    if sizes_file is not None and not once:
        raise click.UsageError("--remember needs --once: a watch that goes on remembers by itself")
    thresholds = Thresholds() if thresholds_file is None else Thresholds.of_file(thresholds_file)
    watched = state_processor.watch(
        opening.path, over=thresholds.over, after=thresholds.after, **measuring, **opening.settings
    )
    if once:
        code = _of_one_round(output, watched, thresholds, sizes_file, measuring["ttl"])
        click.get_current_context().exit(code)
    exporter = Exporter()
    if metrics is not None:
        try:
            port = exporter.serve(*metrics)
        except OSError as error:
            raise click.UsageError(f"no server at {metrics[0]}:{metrics[1]}: {error}") from error
        output.note(f"metrics at http://{metrics[0]}:{port}/metrics")
    told: tuple[str, ...] = ()
    try:
        for answer in watched.rounds(every.total_seconds()):
            exporter.answer = answer
            is_new = bool(answer.measured) or answer.problems != told
            if is_new or thresholds_file is not None:
                _shown(output, answer, thresholds)
            told = answer.problems
    finally:
        exporter.close()


def _of_one_round(
    output: Output,
    watched: Watch,
    thresholds: Thresholds,
    sizes_file: str | None,
    ttl: Iterable[str],
) -> int:
    """Shows a round, and returns the exit code."""
    if sizes_file is not None:
        watched.load(sizes_file)
    answer = watched.round()
    code = _shown(output, answer, thresholds)
    idle = idle_lives(answer, ttl)
    for name in idle:
        output.note(f"--ttl {name}: no state of this name has times of access")
    if sizes_file is not None:  # if that fails, breaches are told nevertheless
        watched.save(sizes_file)
    if answer.problems:
        return _NOT_READ
    is_judged = not idle or not (thresholds.limits or thresholds.states)
    return code or (0 if is_judged else _NOT_COMPARED)


def _shown(output: Output, answer: WatchRound, thresholds: Thresholds) -> int:
    """Prints a round, and returns the exit code; with thresholds, it prints a line for each breach."""
    broken, idle = thresholds.breaches(answer), uncompared(answer, thresholds)
    if thresholds.limits or thresholds.states:
        for breach in broken:
            if output.is_json:
                output.rows("Breaches", [breach])
            else:
                click.echo(breach.text)
        for text in unjudged(answer, thresholds):
            output.note(f"growth is not judged yet: {text}")
        for text in idle:
            output.note(f"a threshold is compared with nothing: {text}")
    else:
        tables = [("States", answer.states), ("Operators", answer.operators), ("Keys", answer.keys)]
        output.page(answer, *tables)
    if broken:
        return _BREACHED
    return _NOT_COMPARED if idle else 0
