"""More about the keys of a batch: their timers, and state of the key alone.

A batch of a scan has whole key groups. So a task finds the rest of its keys in the same key groups
of other tables, without a shuffle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from savepoint_database.types.python_values import python_values, state_values
from savepoint_database.types.spark_values import to_python
from savepoint_formats.errors import SavepointError
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.state_files.state import StateKind
from savepoint_spark.reading.states import hashable

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    import pyarrow as pa

    from savepoint_database.snapshot.operator import Operator
    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_formats.layout import Layout
    from savepoint_formats.scan.scan import TableScan
    from savepoint_formats.tables.tables import Table

_TIMER = ("timestamp", "time_domain")


@dataclass(frozen=True)
class OtherTables:
    """Tables with the same keys.

    ``timers`` have the same kind of namespace. ``of_keys`` has states without a namespace.
    ``problem`` says why timers can't be read.
    """

    timers: tuple[TableScan, ...] = ()
    of_keys: TableScan | None = None
    problem: SavepointError | None = None

    @classmethod
    def of(
        cls,
        savepoint: Snapshot,
        operator: Operator,
        namespace: Layout | None,
        of_keys: TableScan | None = None,
    ) -> OtherTables:
        """The other tables beside one with this namespace."""
        tables = [table for table in operator.tables if table.states[0].kind is StateKind.TIMERS]
        readable = [table for table in tables if set(_TIMER) <= set(_names(table))]
        timers = tuple(
            savepoint.scan(
                f"{operator.name}.{table.name}",
                columns=tuple(name for name in _names(table) if name != "service"),
            )
            for table in readable
            if table.states[0].namespace == namespace
        )
        problem = f"timers of {operator.name} have a serializer that is not known"
        is_complete = len(readable) == len(tables)
        return cls(timers, of_keys, None if is_complete else SavepointError(problem))


def _names(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns)


@dataclass(frozen=True)
class KeyGroupRows:
    """The rows of other tables in some key groups; each table is read on first use."""

    tables: OtherTables
    key_groups: KeyGroupRange

    def timers(self, key: Any, namespace: Any, time_domain: str) -> list[int]:
        """The timers of a key and namespace in ms, ascending, each once."""
        if self.tables.problem is not None:
            raise self.tables.problem
        place = (hashable(key), hashable(namespace), time_domain)
        return sorted(self._timers.get(place, ()))

    @cached_property
    def _timers(self) -> dict[Hashable, set[int]]:
        timers: dict[Hashable, set[int]] = {}
        for scan in self.tables.timers:
            for batch in self._rows(scan):
                *place, timestamps, domains = map(python_values, batch.columns)
                namespaces = place[1] if len(place) > 1 else [None] * batch.num_rows
                rows = zip(place[0], namespaces, domains, timestamps, strict=True)
                for key, namespace, domain, timestamp in rows:
                    at = (hashable(key), hashable(namespace), domain)
                    timers.setdefault(at, set()).add(timestamp)
        return timers

    def states(self, key: Any) -> dict[str, Any]:
        """The values of states without a namespace for a key, by name."""
        return self._states.get(hashable(key), {})

    @cached_property
    def _states(self) -> dict[Hashable, dict[str, Any]]:
        states: dict[Hashable, dict[str, Any]] = {}
        if self.tables.of_keys is not None:
            for batch in self._rows(self.tables.of_keys):
                keys = map(hashable, python_values(batch.column("key")))
                states.update(
                    zip(keys, state_values(self.tables.of_keys.table, batch), strict=True)
                )
        return states

    def _rows(self, scan: TableScan) -> Iterator[pa.RecordBatch]:
        options = replace(scan.options, key_groups=self.key_groups)
        yield from map(to_python, replace(scan, options=options).batches())


def key_groups_of(batch: pa.RecordBatch) -> KeyGroupRange:
    """The key groups of a batch, from its column ``key_group``."""
    ends = pc.min_max(batch.column("key_group"))
    return KeyGroupRange(ends["min"].as_py(), ends["max"].as_py())
