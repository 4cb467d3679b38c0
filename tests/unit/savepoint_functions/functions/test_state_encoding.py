"""State that a function leaves of each key, while its rows are not asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakSet

from support.run_by_hand import left_by

from savepoint_functions.functions.execution_options import ExecutionOptions
from state_processor import KeyedProcessFunction, OutputTag

if TYPE_CHECKING:
    from pathlib import Path

ASIDE = OutputTag("aside", "n BIGINT")


class Given:
    """A row that one can see die."""


class Aside(KeyedProcessFunction):
    """Gives rows, and rows to a side output."""

    side_outputs = (ASIDE,)
    alive: ClassVar[WeakSet[Given]] = WeakSet()
    greatest = 0

    def process_element(self, value: Any, context: Any) -> Any:
        for _ in range(2):
            given = Given()
            self.alive.add(given)
            context.output(ASIDE, given)
        type(self).greatest = max(self.greatest, len(self.alive))
        given = Given()
        self.alive.add(given)
        yield given


def test_rows_that_nobody_asks_for_die_with_their_key(tmp_path: Path) -> None:
    left_by(Aside(), [{"key": key} for key in range(100)], ExecutionOptions(), tmp_path)
    # Those of the key, and the last row of the key before.
    assert 2 <= Aside.greatest <= 4
