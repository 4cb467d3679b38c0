"""What the keys of a partition have in the states of a function when they end, as rows.

| column     | type            | meaning                                              |
|------------|-----------------|------------------------------------------------------|
| key        | that of keys    |                                                      |
| state 0, … | that of a state | what the key has in the state that is registered so  |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_database.types.spark_values import to_spark
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_functions.functions.sorted_inputs import KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_functions.functions.state_runs import FunctionState, StateRuns


def state_column(number: int) -> str:
    """The name of the column of a state."""
    return f"state {number}"


@dataclass(frozen=True)
class EndedKeys:
    """Runs a function, and gives a row for each key that it leaves with state.

    Attributes:
        runs: The function, and its states.
    """

    runs: StateRuns

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows, before they have Spark's types."""
        fields = [pa.field(state_column(number), state.arrow_type) for number, state in self.kept]
        return pa.schema([pa.field(KEY, arrow_type(self.runs.task.rows.key)), *fields])

    @property
    def kept(self) -> list[tuple[int, FunctionState]]:
        """The states, all but timers, each with its number."""
        states = enumerate(self.runs.states)
        return [(number, state) for number, state in states if not state.is_timers]

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of a partition.

        Raises:
            ValueError: The function has left timers.
        """
        schema, names = self.schema, [state.new.name for _, state in self.kept]
        for _, batch in self.runs.columns(self.runs.task.states(batches)):
            for state in self.runs.states:
                if state.is_timers:
                    self._expect_none(batch.column(state.new.name))
            columns = [batch.column(KEY), *map(batch.column, names)]
            yield to_spark(pa.RecordBatch.from_arrays(columns, schema=schema))

    def _expect_none(self, timers: pa.ListArray) -> None:
        if pc.sum(pc.list_value_length(timers)).as_py():
            raise ValueError(
                f"{type(self.runs.task.function).__name__} has registered timers, which local keyed"
                " state cannot have: key_by(…) the rows, or register none"
            )
