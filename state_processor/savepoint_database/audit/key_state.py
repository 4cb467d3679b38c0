"""All state of one key: its states, windows and timers, across operators.

Only the key group of the key is read. For numbers and texts it follows from the key. In other
types, several classes with different hash codes may share a layout. Then the likely key group
is read first; if it lacks the key, all others are read. Keys are shown as the texts that
``savepoint key``, ``--key`` and ``keys=`` accept.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from savepoint_database.types.spark_values import PRINTABLE, printable_rows
from savepoint_database.types.timer_dates import dated_columns, for_people
from savepoint_formats.errors import KeyTypeError, StateTypeError, UnstableHashError
from savepoint_formats.hashing import java_hash
from savepoint_formats.key_groups import KeyGroupRange, key_group
from savepoint_formats.pass_through import decoded
from savepoint_formats.printable import html_printable, html_table, without_secrets
from savepoint_formats.scan import ReadOptions, UndescribedSubclasses, keys_of_layout
from savepoint_formats.state_files import key_layout
from savepoint_formats.tables import KEY, KEY_GROUP, visible_key
from savepoint_formats.values import plain_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_database.snapshot.operator import Operator
    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_database.types.timer_dates import Times
    from savepoint_formats.layout import Layout
    from savepoint_formats.tables import Table
    from savepoint_formats.values import KryoDialect


@dataclass(frozen=True, slots=True, eq=False)
class KeyRows:
    """Rows of a key in a table.

    Attributes:
        operator: Operator of the table.
        table: Name of the table.
        key_group: Key group of the key.
        rows: Rows with all columns of the table.
        dated: Columns whose milliseconds are times.
    """

    operator: str
    table: str
    key_group: int
    rows: pa.Table
    dated: tuple[str, ...]

    def printable(self, times: Times = "dates") -> list[dict[str, Any]]:
        """Rows as plain values: times and dates are text, maps are lists of pairs.

        Args:
            times: ``numbers`` leaves the times of timers and windows in milliseconds.
        """
        batches = self.rows.to_batches()
        if times == "dates":
            batches = [for_people(batch, self.dated) for batch in batches]
        return [row for batch in batches for row in printable_rows(batch)]


@dataclass(frozen=True, slots=True, eq=False)
class KeyState:
    """All state of a key.

    Attributes:
        path: The savepoint.
        key: The key, as text.
        tables: Tables that have the key.
        other_operators: Operators that can't have the key because their keys are of another type.
    """

    path: str
    key: str
    tables: tuple[KeyRows, ...]
    other_operators: tuple[str, ...]

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        key: Any,
        operator: str | None = None,
        undescribed_subclasses: UndescribedSubclasses = "refuse",
    ) -> Self:
        operators = snapshot.operators() if operator is None else (snapshot.operator(operator),)
        rows: list[KeyRows] = []
        others: dict[str, KeyTypeError] = {}
        text = ""
        for candidate in operators:
            tables = [table for table in candidate.tables if _has_keys(table)]
            if not tables:
                continue
            try:
                wanted = keys_of_layout((key,), _layout(tables))
            except KeyTypeError as error:
                others[candidate.name] = error
                continue
            (text,) = key_texts(wanted)
            rows += _rows_of(candidate, tables, wanted, key, undescribed_subclasses)
        if others and not text:
            raise next(iter(others.values()))
        return cls(snapshot.path, text or str(key), tuple(rows), tuple(others))

    def _repr_html_(self) -> str:
        parts = [
            html_rows(f"{rows.operator}.{rows.table}, key group {rows.key_group}", rows.printable())
            for rows in self.tables
        ]
        title = f"{without_secrets(self.path)}: key {self.key}{'' if parts else ', which no operator has'}"
        return f"<p>{html_printable(title)}</p>{''.join(parts)}"

    @property
    def is_found(self) -> bool:
        """Whether any table has the key."""
        return bool(self.tables)

    def table(self, name: str) -> pa.Table:
        """Rows of a table by its full name, ``<operator>.<table>``.

        Raises:
            KeyError: The table lacks the key.
        """
        by_name = {f"{table.operator}.{table.table}": table.rows for table in self.tables}
        return by_name[name]


def html_rows(title: str, rows: list[dict[str, Any]]) -> str:
    """A few rows as HTML for a notebook; a single row is shown column by column."""
    match rows:
        case []:
            return f"<p>{html_printable(title)}: none</p>"
        case [row]:
            return html_table(title, ("column", "value"), ((name, str(row[name])) for name in row))
        case _:
            return html_table(title, list(rows[0]), (list(row.values()) for row in rows))


def key_rows(
    snapshot: Snapshot, table: str, key: Any, undescribed_subclasses: UndescribedSubclasses
) -> KeyRows | None:
    """Rows of a key in one table; None if it has none."""
    operator, shown = snapshot.table(table)
    if not _has_keys(shown):
        raise StateTypeError(f"table {table} is not keyed: no key has rows in it")
    wanted = keys_of_layout((key,), _layout([shown]))
    rows = _rows_of(operator, [shown], wanted, key, undescribed_subclasses)
    return rows[0] if rows else None


def _has_keys(table: Table) -> bool:
    columns = {column.name for column in table.columns}
    return table.states[0].kind.is_keyed and KEY in columns


def _layout(tables: list[Table]) -> Layout:
    return key_layout(tables[0].states[0])


def _rows_of(
    operator: Operator,
    tables: list[Table],
    wanted: pa.Array,
    key: Any,
    undescribed_subclasses: UndescribedSubclasses,
) -> list[KeyRows]:
    def rows(groups: KeyGroupRange | None) -> Iterator[KeyRows]:
        options = ReadOptions(
            keys=(key,),
            key_groups=groups,
            with_key_group=True,
            undescribed_subclasses=undescribed_subclasses,
        )
        for table in tables:
            scan = operator.scan(table, options)
            batches = [batch for batch in scan.batches() if batch.num_rows]
            if batches:
                joined = pa.Table.from_batches(batches)
                group = joined.column(KEY_GROUP)[0].as_py()
                rows = joined.drop_columns([KEY_GROUP])
                dated = dated_columns(table, "dates")
                yield KeyRows(operator.name, table.name, group, rows, dated)

    likely = _likely_key_group(_layout(tables), wanted, operator.record.max_parallelism)
    of_group = [] if likely is None else list(rows(likely))
    return of_group or list(rows(None))


def _likely_key_group(
    layout: Layout, wanted: pa.Array, max_parallelism: int
) -> KeyGroupRange | None:
    """Key group of the key, if its class is the most common one with such a layout."""
    try:
        group = key_group(java_hash(layout, plain_values(wanted)[0]), max_parallelism)
    except UnstableHashError:
        return None
    return KeyGroupRange(group, group)


def stored_key_texts(
    keys: Sequence[bytes], layout: Layout, kryo: KryoDialect | None
) -> tuple[str, ...]:
    """Texts of stored keys. Raises ``FormatError`` if a key is damaged."""
    return key_texts(visible_key(decoded(pa.array(keys, pa.large_binary()), layout, kryo)))


def key_texts(keys: pa.Array) -> tuple[str, ...]:
    """Text of each key: bytes in hexadecimal, structs and lists as JSON, texts as they are."""
    batch = PRINTABLE.batch(pa.RecordBatch.from_arrays([keys], names=["key"]))
    return tuple(_text(row["key"]) for row in batch.to_pylist())


def _text(key: Any) -> str:
    match key:
        case str():
            return key
        case bytes():
            return key.hex()
        case _:
            return json.dumps(key, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
