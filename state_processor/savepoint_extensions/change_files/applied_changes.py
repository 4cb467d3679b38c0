"""Changes of a file, made one after the other; errors say which of them raised it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from savepoint_extensions.change_files.change_file import ChangeFile
from savepoint_formats.errors import SavepointError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_extensions.change_files.change_file import ChangeEntry, Changes
    from state_processor import SavepointWriter


def applied(writer: SavepointWriter, changes: Changes) -> SavepointWriter:
    """See ``SavepointWriter.apply``."""
    return with_entries(writer, ChangeFile.of(changes).entries)


def with_entries(writer: SavepointWriter, entries: Iterable[ChangeEntry]) -> SavepointWriter:
    """The writer with changes made in their order."""
    for entry in entries:
        writer = with_entry(writer, entry)
    return writer


def with_entry(writer: SavepointWriter, entry: ChangeEntry) -> SavepointWriter:
    """The writer with one more change."""
    with errors_at(entry.place):
        return entry.kind.make(writer, entry.words)


@contextmanager
def errors_at(place: str) -> Iterator[None]:
    """Adds a place to errors: to the message, or in a note where the message is not ours."""
    try:
        yield
    except SavepointError as error:
        raise error.within(place) from error.__cause__
    except ValueError as error:
        raise ValueError(f"{error}; in {place}") from error
    except Exception as error:
        error.add_note(f"in {place}")
        raise
