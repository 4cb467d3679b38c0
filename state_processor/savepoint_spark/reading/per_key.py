"""Runs a user's function for each key, or key and window, of an operator.

The driver opens a copy of the function to learn which states it reads, and plans a scan of only
these. A task opens the function, reads its split, and sends rows of the user's schema to Spark, so
state never passes through the JVM. A batch of a scan has whole key groups. So a task finds timers,
and state of the key without a window, in the same key groups of other tables, without a shuffle.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.compute as pc
from pyspark import cloudpickle
from pyspark.sql.types import StructType, _parse_datatype_string

from savepoint_database.types import PYTHON, OutputRows, Place, python_values, state_values
from savepoint_formats.errors import SavepointError, StateNotFoundError
from savepoint_formats.key_groups import KeyGroupRange
from savepoint_formats.scan import ReadOptions
from savepoint_formats.state_files import State, StateKind
from savepoint_formats.tables import Column, tables_of
from savepoint_spark.columns import arrow_schema
from savepoint_spark.reading.functions import (
    KeyedStateReaderFunction,
    ReaderContext,
    RuntimeContext,
)
from savepoint_spark.reading.states import hashable, hold

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
    from types import TracebackType
    from typing import Self

    import pyarrow as pa

    from savepoint_database.snapshot import Operator, Snapshot
    from savepoint_formats.layout import Layout
    from savepoint_formats.scan import Split, TableScan
    from savepoint_formats.tables import Table
    from savepoint_spark.reading.functions import ReaderFunction
    from savepoint_spark.reading.source_options import SourceOptions

    TimersOf = Callable[[str], list[int]]

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
        """The tables to read along with one that has this namespace."""
        tables = [
            table for table in operator.readable_tables if table.states[0].kind is StateKind.TIMERS
        ]
        readable = [table for table in tables if set(_TIMER) <= set(_names(table))]
        timers = tuple(
            savepoint.scan(
                f"{operator.name}.{table.name}",
                columns=tuple(name for name in _names(table) if name != "service"),
            )
            for table in readable
            if table.states[0].namespace == namespace
        )
        problem = f"timers of {operator.name} have an unknown serializer"
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
        yield from map(PYTHON.batch, replace(scan, options=options).batches())


def key_groups_of(batch: pa.RecordBatch) -> KeyGroupRange:
    """The key groups of a batch, from its column ``key_group``."""
    ends = pc.min_max(batch.column("key_group"))
    return KeyGroupRange(ends["min"].as_py(), ends["max"].as_py())


class Visit(NamedTuple):
    """A call of a function: ``namespace`` is for timers, ``values`` has states by name."""

    place: Place
    namespace: Any
    values: dict[str, Any]
    elements: Sequence[Any] = ()


@dataclass(frozen=True)
class PerKeyJob(ABC):
    """A function and its input: ``key``, ``namespace`` if any, states, and ``key_group``."""

    reader: ReaderFunction
    operator: str
    states: tuple[State, ...]
    scan: TableScan
    others: OtherTables
    schema: pa.Schema

    @abstractmethod
    def visits(self, batch: pa.RecordBatch, others: KeyGroupRows) -> Iterable[Visit]:
        """The calls for the rows of a batch."""

    @abstractmethod
    def call(self, visit: Visit, timers: TimersOf) -> Iterable[Any]:
        """The rows that the function returns."""

    def run(self, split: Split) -> Iterator[pa.RecordBatch]:
        """The rows of the function for a split, as batches."""
        yield from OutputRows(self.schema, type(self.reader).__name__).batches(self.rows(split))

    def rows(self, split: Split) -> Iterator[tuple[Place, Any]]:
        """The rows of the function for a split, each with its place."""
        context = RuntimeContext(self.operator, self.states)
        with closing(self.reader):
            self.reader.open(context)
            names, states = tuple(context.registered), tuple(context.registered.values())
            for batch, others in self._batches(split):
                with _Function(self.reader, self.operator) as function:
                    for visit in self.visits(batch, others):
                        function.place = visit.place
                        hold(states, map(visit.values.get, names))
                        timers = partial(others.timers, visit.place.key, visit.namespace)
                        for row in self.call(visit, timers):
                            yield visit.place, row
                        function.place = None

    def _batches(self, split: Split) -> Iterator[tuple[pa.RecordBatch, KeyGroupRows]]:
        """The batches of a split that have rows, with more about their key groups."""
        others = None
        for batch in self.scan.read(split):
            if batch.num_rows:
                key_groups = key_groups_of(batch)
                # A key group that is too large for memory comes in several batches.
                if others is None or others.key_groups != key_groups:
                    others = KeyGroupRows(self.others, key_groups)
                yield PYTHON.batch(batch), others


class _Function:
    """Notes in errors which function raised them, and where."""

    def __init__(self, reader: ReaderFunction, operator: str) -> None:
        self._name = type(reader).__name__
        self._operator = operator
        self.place: Place | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if error is not None and self.place is not None:
            error.add_note(f"in {self._name} for {self.place} of {self._operator}")


@dataclass(frozen=True)
class ReaderPlan:
    """The driver's plan of a reader function; ``keys`` is None for all keys."""

    savepoint: Snapshot
    operator: Operator
    reader: ReaderFunction
    keys: tuple[Any, ...] | None = None

    def states(self) -> tuple[State, ...]:
        """The operator's keyed states without timers, those of windows included."""
        return tuple(
            state
            for state in self.operator.catalog.states
            if state.kind.is_keyed and state.kind is not StateKind.TIMERS
        )

    def registered(self) -> tuple[State, ...]:
        """The states that a copy of the function registers; ``StateNotFoundError`` for one that is not there."""
        context = RuntimeContext(self.operator.name, self.states())
        copy = cloudpickle.loads(cloudpickle.dumps(self.reader))  # type: ignore[no-untyped-call]
        with closing(copy):
            copy.open(context)
        return tuple(state for state in self.states() if state.name in context.registered)

    def scan(self, states: Sequence[State]) -> TableScan:
        """A scan of states with one namespace; their columns get names that no state has."""
        whole = next(table for table in self.operator.readable_tables if states[0] in table.states)
        (table,) = tables_of(states)
        first = len(table.columns) - len(states)
        columns = [
            Column(f"{index}: {column.name}", column.layout) if index >= first else column
            for index, column in enumerate(table.columns)
        ]
        return replace(
            self.savepoint.scan(f"{self.operator.name}.{whole.name}"),
            table=replace(table, columns=tuple(columns)),
            options=ReadOptions(keys=self.keys, with_key_group=True),
        )


@dataclass(frozen=True)
class KeyedReaderJob(PerKeyJob):
    """A function, and the states without a namespace that it reads."""

    reader: KeyedStateReaderFunction

    @classmethod
    def of(cls, plan: ReaderPlan, schema: pa.Schema) -> Self:
        """The job, or an error if the function is of another kind, or its states don't fit."""
        reader, operator = plan.reader, plan.operator.name
        if not isinstance(reader, KeyedStateReaderFunction):
            raise TypeError(
                f"{type(reader).__name__} is no KeyedStateReaderFunction, which reads keyed state"
            )
        states = plan.registered()
        if not states:
            raise ValueError(
                f"{type(reader).__name__} registers no state in open, so it would see no key;"
                " read_timers has keys that only have timers"
            )
        of_windows = [state.name for state in states if state.namespace is not None]
        if of_windows:
            raise StateNotFoundError(
                f"state {of_windows[0]!r} of {operator} is state of windows; read_window_state"
                " reads it"
            )
        return cls(
            reader=reader,
            operator=operator,
            states=plan.states(),
            scan=plan.scan(states),
            others=OtherTables.of(plan.savepoint, plan.operator, None),
            schema=schema,
        )

    def visits(self, batch: pa.RecordBatch, others: KeyGroupRows) -> Iterator[Visit]:  # noqa: ARG002
        keys = python_values(batch.column("key"))
        for key, values in zip(keys, state_values(self.scan.table, batch), strict=True):
            yield Visit(Place(key), None, values)

    def call(self, visit: Visit, timers: TimersOf) -> Iterable[Any]:
        return self.reader.read_key(visit.place.key, ReaderContext(timers))


def keys_of_function(asked: SourceOptions) -> tuple[Any, ...] | None:
    """The keys for a function, None for all; ``ValueError`` for any other option."""
    if refused := [name for name in asked.changed() if name != "keys"]:
        raise ValueError(
            "a reader function takes no arguments but 'schema' and 'keys';"
            f" leave {', '.join(refused)} to reads without a function"
        )
    return asked.read.keys


def row_types(schema: StructType | str | None, function: object) -> tuple[StructType, pa.Schema]:
    """The types of a function's rows, for Spark and for Arrow; ``ValueError`` without columns."""
    name = type(function).__name__
    if schema is None:
        raise ValueError(
            f"the columns that {name} gives are not known: add schema='key STRING, total BIGINT'"
        )
    # What StructType.fromDDL calls, which Spark has since 4.0.
    data_type = _parse_datatype_string(schema) if isinstance(schema, str) else schema
    if not isinstance(data_type, StructType):
        raise ValueError(f"schema {schema!r} has no columns, expected a text such as 'key STRING'")
    return data_type, arrow_schema(data_type)
