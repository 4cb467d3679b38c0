"""The round trip of one savepoint."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from savepoint_formats.errors import SavepointError
from savepoint_formats.layout import BinaryRow, LogicalType, parts
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from savepoint_database.snapshot.description import SavepointDescription
    from savepoint_formats.layout import Layout
    from savepoint_formats.state_files.state import State
    from state_processor.savepoint.writer import SavepointWriter

# What loses nothing: times with all their digits, and bytes where an object can't be decoded.
_EXACT: dict[str, Any] = {"nanoseconds": "struct", "undescribed_subclasses": "bytes"}
_REFUSALS = (SavepointError, ValueError, TypeError)


@dataclass(frozen=True, slots=True)
class Leg:
    """One state on its way.

    Attributes:
        operator: The operator's uid, or its hash.
        state: The name of the state.
        table: The full name of its table.
        columns: What identifies a row, and the column of the state; none of operator state.
        kind: Of the state.
        types: The nodes of its layouts, of keys and namespaces, too.
        passes: Whether no rows can be made of it, or none written, so that its bytes pass.
        refusal: Why it is not written; empty if it is.
    """

    operator: str
    state: str
    table: str
    columns: tuple[str, ...]
    kind: str
    types: frozenset[str]
    passes: bool = False
    refusal: str = ""

    @property
    def is_written(self) -> bool:
        return not self.passes and not self.refusal

    def written(self, writer: SavepointWriter, savepoint: Any) -> SavepointWriter:
        """The savepoint with this state made of the rows that it has."""
        keyed = {"columns": self.columns, "with_key_group": True, "with_times": True}
        rows = savepoint.with_forms(**_EXACT).read_table(
            self.table, **(keyed if self.columns else {})
        )
        return writer.with_state(self.operator, self.state, rows)


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Results for the states of a savepoint.

    Attributes:
        description: Of the savepoint.
        legs: The states.
        differing: The tables whose rows are not the same after all.
        rows: How many rows its tables have.
    """

    description: SavepointDescription
    legs: tuple[Leg, ...]
    differing: tuple[str, ...]
    rows: int


def round_trip(spark: SparkSession, path: str, folder: Path, uids: Sequence[str] = ()) -> RoundTrip:
    """Writes every state of a savepoint as the rows that it has, and compares what came of it.

    Args:
        spark: The session.
        path: The folder of ``_metadata``.
        folder: Where to write to; it is empty, or not there. The savepoint is in ``all``.
        uids: The uids of operators, where the savepoint has hashes alone.
    """
    savepoint = Savepoint.load(spark, path, uids=list(uids))
    legs = tuple(_legs(savepoint))
    try:
        _write(savepoint, legs, folder / "all")
    except _REFUSALS:
        # One of them is refused; each by itself says which.
        legs = tuple(_tried(savepoint, leg, folder / str(n)) for n, leg in enumerate(legs))
        _write(savepoint, legs, folder / "all")
    before = _rows(Savepoint.open(path, uids=list(uids)))
    after = _rows(Savepoint.open(str(folder / "all"), uids=list(uids)))
    differing = (name for name in before.keys() | after if before.get(name) != after.get(name))
    count = sum(map(len, before.values()))
    return RoundTrip(savepoint.describe(), legs, tuple(sorted(differing)), count)


def _legs(savepoint: Any) -> Iterator[Leg]:
    for operator in savepoint.operators():
        for table in operator.readable_tables:
            name = f"{operator.name}.{table.name}"
            keys = [shown.name for shown in table.columns if shown.name in ("key", "namespace")]
            # Timers and raw state have no column of their own.
            shown = {state: column.name for column, state in table.state_columns()}
            for state in table.states:
                passes = state not in shown or state.kind.is_raw
                columns = (*keys, shown.get(state, "")) if state.kind.is_keyed else ()
                kind, types = str(state.kind), _types(state)
                yield Leg(operator.name, state.name, name, columns, kind, types, passes)


def _types(state: State) -> frozenset[str]:
    layouts = filter(None, (state.key, state.namespace, state.stored))
    return frozenset(name for layout in layouts for name in _names(layout))


def _names(layout: Layout | LogicalType) -> Iterator[str]:
    """The kind of a node and of those in it; fields of binary rows by their types of SQL."""
    if isinstance(layout, LogicalType):
        yield f"SQL {layout.root}"
        within: Iterable[Layout | LogicalType] = layout.children
    else:
        yield type(layout).__name__
        row = layout.types if isinstance(layout, BinaryRow) else ()
        within = (*parts(layout), *row)
    for part in within:
        yield from _names(part)


def _write(savepoint: Any, legs: Sequence[Leg], target: Path) -> None:
    writer = savepoint.writer()
    for leg in legs:
        writer = leg.written(writer, savepoint) if leg.is_written else writer
    writer.write(str(target))


def _tried(savepoint: Any, leg: Leg, target: Path) -> Leg:
    try:
        _write(savepoint, [leg], target)
    except _REFUSALS as error:
        return replace(leg, refusal=f"{type(error).__name__}: {error}")
    return leg


def _rows(savepoint: Savepoint) -> dict[str, list[str]]:
    """The rows of each table, in an order that does not depend on where they lie."""
    return {table.table: _rows_of(savepoint, table.table) for table in savepoint.tables()}


def _rows_of(savepoint: Savepoint, name: str) -> list[str]:
    has_values = bool(savepoint.table(name)[1].state_columns())
    scan = savepoint.with_forms(undescribed_subclasses="bytes").scan(name, with_times=has_values)
    return sorted(map(repr, scan.to_arrow().to_pylist()))
