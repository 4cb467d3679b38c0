"""The options that say who does the work, this process or Spark; and a savepoint opened for it."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli.options import open_savepoint
from state_processor import Savepoint, local_session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

LOCAL = "local[*]"


def _settings(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    settings = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise click.BadParameter(f"{text!r}, expected such as spark.driver.memory=4g")
        settings[name.replace(".", "__")] = value
    return settings


def spark_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a session of Spark: ``master`` and ``conf``."""
    for decorate in (
        click.option(
            "--conf",
            multiple=True,
            metavar="NAME=VALUE",
            callback=_settings,
            help="Of Spark: a setting, as spark.driver.memory=4g. Repeatable.",
        ),
        click.option(
            "--master",
            metavar="URL",
            default=LOCAL,
            help="Of Spark: where it runs. This machine if not.",
        ),
    ):
        command = decorate(command)
    return command


def work_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that ``opened_for`` takes from those of a command."""
    return click.option(
        "--engine",
        type=click.Choice(["process", "spark"]),
        default="process",
        show_default=True,
        help="What does the work: this process, or tasks of Spark.",
    )(spark_options(command))


def started_session(master: str = LOCAL, conf: Mapping[str, str] | None = None) -> SparkSession:
    """A session; tells that it takes a while.

    Args:
        master: Where it runs.
        conf: Settings of Spark, as ``spark_options`` has them.
    """
    if sys.stderr.isatty():
        click.echo("Starting Spark …", err=True)
    # What goes wrong on the way to Java is logged with its traceback before it is raised.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        spark = local_session(master, **conf or {})
    except RuntimeError as error:
        # There is no Java, or it does not start.
        raise click.ClickException(str(error)) from error
    # It prints a traceback where Java ends in the middle of what it counts.
    counting: Any = spark.sparkContext._accumulatorServer
    counting.handle_error = _ignored
    if threading.current_thread() is threading.main_thread():
        # Spark's own asks Java in the middle of another question, which breaks both.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return spark


def _ignored(*_: object) -> None: ...


def opened_for(path: str, options: dict[str, Any]) -> Savepoint:
    """The savepoint that the shared options are about, for what is to do the work.

    Args:
        path: The savepoint.
        options: All options of ``inspection`` and of ``work_options``; keeps those of the former.
    """
    work = {name: options.pop(name) for name in ("engine", "master", "conf")}
    opened = open_savepoint(path, **options)
    if work["engine"] == "process":
        return opened
    names = tuple(operator.uid for operator in opened.operators() if operator.uid)
    places = {
        name: options[name] for name in ("allow_paths", "strict_paths", "key_types", "kryo_classes")
    }
    return Savepoint.load(
        started_session(work["master"], work["conf"]), opened.path, uids=names, **places
    )
