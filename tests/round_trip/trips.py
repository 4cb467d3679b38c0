"""The round trip of one savepoint."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from savepoint_formats.errors import SavepointError
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor.savepoint.writer import SavepointWriter

# What loses nothing: times with all their digits, and bytes where an object can't be decoded.
_EXACT: dict[str, Any] = {"nanoseconds": "struct", "undescribed_subclasses": "bytes"}


@dataclass(frozen=True, slots=True)
class Leg:
    """One state on its way.

    Attributes:
        operator: The operator's uid, or its hash.
        state: The name of the state.
        table: The full name of its table.
        columns: What identifies a row, and the column of the state; none of operator state.
        kind: Of the state.
        type: Of its values, as Arrow has them.
        refusal: Why it is not written; empty if it is.
    """

    operator: str
    state: str
    table: str
    columns: tuple[str, ...]
    kind: str
    type: str
    refusal: str = ""

    def written(self, writer: SavepointWriter, savepoint: Any) -> SavepointWriter:
        """The savepoint with this state made of the rows that it has."""
        keyed = {"columns": self.columns, "with_key_group": True, "with_times": True}
        rows = savepoint.read_table(self.table, **_EXACT, **(keyed if self.columns else {}))
        return writer.with_state(self.operator, self.state, rows)


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """What became of the states of a savepoint.

    Attributes:
        legs: The states.
        differing: The tables whose rows are not the same after all.
    """

    legs: tuple[Leg, ...]
    differing: tuple[str, ...]


def round_trip(spark: SparkSession, path: str, folder: Path, uids: Sequence[str] = ()) -> RoundTrip:
    """Writes every state of a savepoint as the rows that it has, and compares what came of it.

    Args:
        spark: The session.
        path: The folder of ``_metadata``.
        folder: Where to write to; it is empty, or not there.
        uids: The uids of operators, where the savepoint has hashes alone.
    """
    savepoint = Savepoint.load(spark, path, uids=list(uids))
    legs = tuple(_legs(savepoint))
    try:
        _write(savepoint, legs, folder / "all")
    except (SavepointError, ValueError, TypeError):
        # One of them is refused; each by itself says which.
        legs = tuple(_tried(savepoint, leg, folder / str(n)) for n, leg in enumerate(legs))
        _write(savepoint, [leg for leg in legs if not leg.refusal], folder / "all")
    return RoundTrip(legs, tuple(_differing(path, str(folder / "all"), uids)))


def _legs(savepoint: Any) -> Iterator[Leg]:
    for operator in savepoint.operators():
        for table in operator.tables:
            name = f"{operator.name}.{table.name}"
            keys = [shown.name for shown in table.columns if shown.name in ("key", "namespace")]
            for column, state in table.state_columns():
                if not state.kind.is_raw:
                    columns = (*keys, column.name) if state.kind.is_keyed else ()
                    type_ = str(savepoint.scan(name).schema.field(column.name).type)
                    yield Leg(operator.name, state.name, name, columns, state.kind.name, type_)


def _write(savepoint: Any, legs: Sequence[Leg], target: Path) -> None:
    writer = savepoint.writer()
    for leg in legs:
        writer = leg.written(writer, savepoint)
    writer.write(str(target))


def _tried(savepoint: Any, leg: Leg, target: Path) -> Leg:
    try:
        _write(savepoint, [leg], target)
    except (SavepointError, ValueError, TypeError) as error:
        return replace(leg, refusal=f"{type(error).__name__}: {error}")
    return leg


def _differing(path: str, target: str, uids: Sequence[str]) -> Iterator[str]:
    before, after = (Savepoint.open(place, uids=list(uids)) for place in (path, target))
    names, others = ({table.table for table in opened.tables()} for opened in (before, after))
    yield from sorted(names ^ others)
    for name in sorted(names & others):
        if _rows(before, name) != _rows(after, name):
            yield name


def _rows(savepoint: Savepoint, name: str) -> list[str]:
    """The rows of a table, in an order that does not depend on where they lie."""
    has_values = bool(savepoint.table(name)[1].state_columns())
    scan = savepoint.scan(name, undescribed_subclasses="bytes", with_times=has_values)
    return sorted(map(repr, scan.to_arrow().to_pylist()))
