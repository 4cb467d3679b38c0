"""The options that choose the engine of a command, this process or Spark; and sessions of Spark."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

import state_processor
from savepoint_cli import option_groups, options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from savepoint_cli.opening import Opening
    from savepoint_database.snapshot import OpeningOptions
    from state_processor import Savepoint, SparkSavepoint

LOCAL = "local[*]"


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine of a command: ``spark``, or one in this process."""

    engine: str
    master: str
    conf: dict[str, str]

    @property
    def is_spark(self) -> bool:
        return self.engine == "spark"

    def load(self, opening: Opening, opened: Savepoint) -> SparkSavepoint:
        """Opens a savepoint again for Spark; warnings about unknown uids were shown before."""
        uids = tuple(operator.uid for operator in opened.operators() if operator.uid)
        spark = started_session(self.master, self.conf)
        settings: OpeningOptions = {**opening.settings, "uids": uids}
        return state_processor.Savepoint.load(spark, opened.path, **settings)

    def open(self, opening: Opening) -> Savepoint:
        opened = opening.open()
        return self.load(opening, opened) if self.is_spark else opened


def _settings(given: tuple[str, ...]) -> dict[str, str]:
    settings = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise click.BadParameter(f"{text!r}, expected such as spark.driver.memory=4g")
        settings[name.replace(".", "__")] = value
    return settings


def engine_options(name: str, text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options of an ``Engine``, which is Spark or the one of this name."""
    return option_groups.collected(
        "engine",
        Engine,
        click.option(
            "--engine",
            type=click.Choice([name, "spark"]),
            default=name,
            show_default=True,
            help=text,
        ),
        click.option(
            "--master",
            metavar="URL",
            default=LOCAL,
            help="Spark's master; this machine by default. Spark comes with the extra spark.",
        ),
        click.option(
            "--conf",
            multiple=True,
            metavar="NAME=VALUE",
            callback=options.callback(_settings),
            help="A setting of Spark, such as spark.driver.memory=4g. Repeatable.",
        ),
    )


work_options = engine_options("process", "The engine: this process, or tasks of Spark.")


def started_session(master: str = LOCAL, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Starts a session, and says so on a terminal; names of settings have ``__`` for dots."""
    if sys.stderr.isatty():
        click.echo("Starting Spark …", err=True)
    # PySpark logs the traceback of an error on the way to Java, and then raises the error.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        spark = state_processor.local_session(master, **conf or {})
    except RuntimeError as error:
        # There is no Java, or it does not start.
        raise click.ClickException(str(error)) from error
    # It prints a traceback if Java ends while it counts.
    counting: Any = spark.sparkContext._accumulatorServer
    counting.handle_error = lambda *_: None
    if threading.current_thread() is threading.main_thread():
        # Spark's handler asks Java in the middle of another question, which breaks both.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return spark
