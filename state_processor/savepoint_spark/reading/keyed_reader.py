"""Runs a ``KeyedStateReaderFunction``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from savepoint_database.rows.place import Place
from savepoint_database.types.python_values import python_values, state_values
from savepoint_formats.errors import StateNotFoundError
from savepoint_spark.reading.functions import KeyedStateReaderFunction, ReaderContext
from savepoint_spark.reading.key_group_rows import OtherTables
from savepoint_spark.reading.per_key import PerKeyJob, ReaderPlan, Visit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from savepoint_spark.reading.key_group_rows import KeyGroupRows
    from savepoint_spark.reading.per_key import TimersOf


@dataclass(frozen=True)
class KeyedReaderJob(PerKeyJob):
    """A function, and the states without a namespace that it reads."""

    reader: KeyedStateReaderFunction

    @classmethod
    def of(cls, plan: ReaderPlan, schema: pa.Schema) -> Self:
        """The job.

        Raises:
            TypeError: The function is of another kind.
            ValueError: It registers no state.
            StateNotFoundError: It registers one that the operator does not have.
        """
        reader, operator = plan.reader, plan.operator.name
        if not isinstance(reader, KeyedStateReaderFunction):
            raise TypeError(
                f"{type(reader).__name__} is no KeyedStateReaderFunction, which reads keyed state"
            )
        states = plan.registered()
        if not states:
            raise ValueError(
                f"{type(reader).__name__} registers no state in open, hence would see no key;"
                " read_timers has keys with timers alone"
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
