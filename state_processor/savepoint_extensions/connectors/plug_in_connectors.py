"""Connectors that plug-ins add to those of this package, which are asked first."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from savepoint_extensions.connectors.connector_rows import (
    SinkConnector,
    SourceConnector,
    SplitFacts,
)
from savepoint_formats.errors import FormatError, RefusedError, UndecodableError
from savepoint_formats.plug_ins import CONNECTORS, Loaded, are_on, failure, loaded, warn_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_formats.plug_ins import PlugIn

ConnectorT = TypeVar("ConnectorT", SourceConnector, SinkConnector)

_WORDS: dict[type, str] = {SourceConnector: "source", SinkConnector: "sink"}


class PlugInFailedError(UndecodableError):
    """A connector of a plug-in failed; it may not be the one that wrote the bytes."""


def plug_in_connectors(own: Iterable[SourceConnector | SinkConnector]) -> Loaded:
    """The connectors of plug-ins, by ``source NAME`` and ``sink NAME``; none has the name of an own one."""
    return _loaded(are_on(), frozenset(map(_name, own)))


def of_plug_ins(kind: type[ConnectorT], own: Iterable[ConnectorT]) -> Iterator[ConnectorT]:
    """The connectors of one kind that plug-ins add to own ones, sorted by their names; loaded when they are asked."""
    names = frozenset(map(_name, own))
    yield from (row for row in _used(are_on(), names) if isinstance(row, kind))


@cache
def _loaded(_are_on: bool, own: frozenset[str]) -> Loaded:
    return loaded(CONNECTORS, _rows_of, own.__contains__)


@cache
def _used(is_on: bool, own: frozenset[str]) -> tuple[SourceConnector | SinkConnector, ...]:
    all_loaded = _loaded(is_on, own)
    warn_of(all_loaded)
    return tuple(_owned(row.value, str(row.plug_in)) for _, row in sorted(all_loaded.rows.items()))


def _name(row: SourceConnector | SinkConnector) -> str:
    return f"{_WORDS[type(row)]} {row.name}"


def _rows_of(_plug_in: PlugIn, entry: Any) -> Iterator[tuple[str, Any]]:
    rows = entry if isinstance(entry, list | tuple) else [entry]
    for row in rows:
        if type(row) not in _WORDS or not isinstance(row.name, str) or not row.name:
            raise TypeError(
                f"{type(row).__name__}, expected a SourceConnector or a SinkConnector with a name"
            )
        yield _name(row), row


def _owned(row: SourceConnector | SinkConnector, owner: str) -> SourceConnector | SinkConnector:
    """A connector whose errors name its plug-in."""
    if isinstance(row, SinkConnector):
        return replace(
            row,
            committable=_guarded(row.committable, owner, dict),
            writer=row.writer and _guarded(row.writer, owner, dict),
        )
    return replace(
        row,
        split=_guarded(row.split, owner, SplitFacts),
        enumerator=row.enumerator and _listing(row.enumerator, owner),
        move=row.move and _moving(row.move, owner),
    )


def _guarded(read: Callable[..., Any], owner: str, kind: type) -> Callable[..., Any]:
    def guarded(versioned: Any, path: str) -> Any:
        try:
            value = read(versioned, path)
            if not isinstance(value, kind):
                raise TypeError(f"{type(value).__name__}, expected {kind.__name__}")
        except FormatError:
            raise
        except Exception as error:
            raise PlugInFailedError(failure(owner, error), path, 0) from error
        return value

    return guarded


def _listing(read: Callable[..., Any], owner: str) -> Callable[..., Any]:
    """A guarded enumerator, whose errors come while it is listed."""
    return _guarded(lambda versioned, path: list(read(versioned, path)), owner, list)


def _moving(move: Callable[..., Any], owner: str) -> Callable[..., Any]:
    def moving(versioned: Any, position: Any, path: str) -> Any:
        try:
            return move(versioned, position, path)
        except (RefusedError, FormatError, ValueError):
            raise
        except Exception as error:
            raise RefusedError(failure(owner, error)) from error

    return moving
