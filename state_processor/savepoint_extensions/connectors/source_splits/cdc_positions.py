"""Positions of change data capture: their connectors, and their order.

| connector     | names of a position                                                    | order        |
|---------------|------------------------------------------------------------------------|--------------|
| mysql-cdc     | kind, file, pos, gtids, event, row, ts_sec, server_id, transaction_id  | file and pos |
| postgres-cdc  | lsn, lsn_proc, lsn_commit, txId, ts_usec, messageType                  | lsn          |
| oracle-cdc    | scn, commit_scn, lcr_position, snapshot_scn                            | scn          |
| sqlserver-cdc | change_lsn, commit_lsn, event_serial_no; Db2 has the same              | change_lsn   |
| mongodb-cdc   | timestamp, resumeToken, and names of databases and collections         | timestamp    |

A row of ``DIALECTS`` adds a connector. No state names its connector.

Connectors: ``BinlogOffset``, ``PostgresOffset``, ``RedoLogOffset``, ``LsnOffset``, ``ChangeStreamOffset``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_extensions.connectors.source_splits.cdc_splits import position_values
from savepoint_formats.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Values = Mapping[str, str | None]

_NUMBER = re.compile(r"-?\d{1,20}")
_LSN = re.compile(r"[0-9a-fA-F]{8}:[0-9a-fA-F]{8}:[0-9a-fA-F]{4}")
_KINDS = ("EARLIEST", "LATEST", "TIMESTAMP", "SPECIFIC")


@dataclass(frozen=True, slots=True)
class Dialect:
    """Positions of a connector.

    Attributes:
        name: Its name, as users know it.
        required: The name by which its positions are recognised.
        others: Further names, with blanks between them.
        numbers: Names whose texts must be numbers, likewise.
        order: Something that grows with the position; raises ``KeyError`` or ``ValueError``
            for a position without a place, such as the latest.
    """

    name: str
    required: str
    others: str
    numbers: str
    order: Callable[[Values], tuple[str | int, ...]]


def _binlog_order(values: Values) -> tuple[str | int, ...]:
    if values.get("kind") not in (None, "SPECIFIC"):
        raise ValueError(f"a position of kind {values['kind']}")
    return _text(values, "file"), int(_text(values, "pos"))


def _lsn_order(values: Values) -> tuple[str | int, ...]:
    lsn = _text(values, "change_lsn")
    if not _LSN.fullmatch(lsn):
        raise ValueError(f"a log sequence number {lsn!r}")
    return (lsn.lower(),)


def _text(values: Values, name: str) -> str:
    text = values[name]
    if not text:
        raise ValueError(f"an empty {name}")
    return text


def _number(name: str) -> Callable[[Values], tuple[str | int, ...]]:
    return lambda values: (int(_text(values, name)),)


DIALECTS = (
    Dialect(
        "mysql-cdc",
        "file",
        "kind pos gtids event row ts_sec server_id transaction_id",
        "pos event row ts_sec server_id",
        _binlog_order,
    ),
    Dialect(
        "postgres-cdc",
        "lsn",
        "lsn_proc lsn_commit txId ts_usec messageType transaction_id",
        "lsn lsn_proc lsn_commit txId ts_usec",
        _number("lsn"),
    ),
    Dialect(
        "oracle-cdc",
        "scn",
        "commit_scn lcr_position snapshot_scn transaction_id",
        "scn",
        _number("scn"),
    ),
    Dialect(
        "sqlserver-cdc",
        "change_lsn",
        "commit_lsn event_serial_no transaction_id",
        "event_serial_no",
        _lsn_order,
    ),
    Dialect(
        "mongodb-cdc",
        "timestamp",
        "resumeToken database collection databaseRegex namespaceRegex",
        "timestamp",
        _number("timestamp"),
    ),
)
_MYSQL = DIALECTS[0]


def dialect_of(position: str | None, *, is_base: bool) -> Dialect | None:
    """The connector that has written a position; None where it can't be told."""
    if not is_base:
        return _MYSQL
    values = (position and position_values(position)) or {}
    return next((dialect for dialect in DIALECTS if dialect.required in values), None)


def checked_position(position: str, dialect: Dialect | None) -> str:
    """A position that users give.

    Raises ``RefusedError`` if the connector could not go on from it.
    """
    values = position_values(position)
    if values is None:
        raise RefusedError(
            f'{position}: expected a JSON object of texts, as {{"file": "a.000001"}}'
        )
    if dialect is None:
        raise RefusedError("the connector of this split is unknown, and so are its positions")
    known = {dialect.required, *dialect.others.split()}
    if unknown := sorted(set(values) - known):
        names = ", ".join(sorted(known))
        raise RefusedError(f"{position}: {dialect.name} has no {', '.join(unknown)}, only {names}")
    for name in sorted(set(dialect.numbers.split()) & set(values)):
        if not _NUMBER.fullmatch(values[name] or ""):
            raise RefusedError(f"{position}: {name} must be a text with a number")
    if dialect is _MYSQL and values.get("kind") not in (None, "SPECIFIC"):
        if values["kind"] not in _KINDS:
            raise RefusedError(f"{position}: kind must be one of {', '.join(_KINDS)}")
        if values["kind"] == "TIMESTAMP" and "ts_sec" not in values:
            raise RefusedError(f"{position}: a position of kind TIMESTAMP needs ts_sec")
        return position
    if dialect is _MYSQL and values.get("gtids"):
        return position
    try:
        dialect.order(values)
    except (KeyError, ValueError) as error:
        raise RefusedError(f"{position}: {dialect.name} can't go on from it: {error}") from error
    return position


def newest_position(positions: list[str], dialect: Dialect | None) -> str:
    """The last of some positions. Raises ``RefusedError`` if their order is not known."""
    return max(positions, key=lambda position: position_order(position, dialect))


def position_order(position: str, dialect: Dialect | None) -> tuple[str | int, ...]:
    """Something that grows with the position.

    Raises ``RefusedError`` if the order of such positions is not known.
    """
    values = position_values(position) or {}
    try:
        if dialect is None:
            raise ValueError("an unknown connector")
        return dialect.order(values)
    except (KeyError, ValueError) as error:
        raise RefusedError(f"{position} can't be compared with other positions: {error}") from error


def expect_one_server(positions: list[str]) -> None:
    """Raises ``RefusedError`` if positions of MySQL are of several servers.

    Files and numbers of two servers can't be compared.
    """
    servers = {(position_values(position) or {}).get("server_id") for position in positions}
    if len(servers - {None, "0"}) > 1:
        names = ", ".join(sorted(filter(None, servers)))
        raise RefusedError(f"positions of several servers ({names}) can't be compared")
