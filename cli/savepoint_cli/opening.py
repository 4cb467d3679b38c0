"""The savepoint of a command, and how it is opened."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

import state_processor
from savepoint_cli.command_table import IS_OF_SPARK, OF_SPARK
from savepoint_cli.terminal.output import Output
from savepoint_database import snapshot as snapshots
from savepoint_formats.errors import SavepointError, SavepointNotFoundError
from savepoint_formats.lazy_names import named
from savepoint_formats.printable import printable
from savepoint_formats.savepoint_warnings import UnknownUidWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_database.snapshot import OpeningOptions
    from savepoint_formats.layout import KryoClass
    from state_processor import Savepoint


@contextmanager
def usage_errors() -> Iterator[None]:
    """Reports a ``ValueError`` as a wrong call."""
    try:
        yield
    except SavepointError:
        raise
    except ValueError as error:
        raise click.UsageError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Opening:
    """The savepoint of a command, and how it is opened."""

    path: str
    kryo_classes: tuple[KryoClass, ...] | None
    key_types: dict[str, str]
    types: dict[str, dict[str, str]] | None
    allow_paths: tuple[str, ...]
    strict_paths: bool
    uids: tuple[str, ...]
    listed_uids: list[str] | None
    plan: str | None
    trigger: bool
    trigger_into: str

    @property
    def settings(self) -> OpeningOptions:
        """The keyword arguments of ``Savepoint.open``."""
        return snapshots.opening_of(
            uids=(*self.uids, *(self.listed_uids or ())),
            kryo_classes=self.kryo_classes or (),
            allow_paths=self.allow_paths,
            strict_paths=self.strict_paths,
            key_types=self.key_types,
            plan=self.plan,
            types=self.types,
        )

    def open(self) -> Savepoint:
        """Opens it; answers call its operators by short names from then on.

        A running job takes it first, if that is asked for.
        """
        path = self.path
        if self.trigger or self.trigger_into:
            with usage_errors():
                path = state_processor.take_savepoint(
                    path, self.trigger_into, on_progress=_note, allow_paths=self.allow_paths
                )
            _note(f"{path} is complete, and stays")
        context = click.get_current_context()
        try:
            savepoint = state_processor.Savepoint.open(path, **self.settings)
        except SavepointNotFoundError:
            # No other path is looked at twice.
            if named(IS_OF_SPARK)(path):
                named(OF_SPARK)(context, path)
            raise
        shown = context.params.get("output")
        if isinstance(shown, Output):
            shown.shorten(savepoint.short_ids())
        return savepoint

    def open_later(self, path: str, before: Savepoint) -> Savepoint:
        """Opens the savepoint that another one is compared with; both name operators alike."""
        names = [operator.uid for operator in before.operators() if operator.uid]
        with warnings.catch_warnings():
            # The comparison says that an operator is gone.
            warnings.simplefilter("ignore", UnknownUidWarning)
            return replace(self, path=path, uids=(*self.uids, *names)).open()


def _note(text: str) -> None:
    click.echo(printable(text), err=True)
