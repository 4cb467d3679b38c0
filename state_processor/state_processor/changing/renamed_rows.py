"""Rows that become state under other names than those that they know themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, Row

    from state_processor.writing.handed_runs import RunSource
    from state_processor.writing.keyed_write import RunRows
    from state_processor.writing.operator_rows import ElementRows, NewOperatorState


@dataclass(frozen=True)
class RenamedRows:
    """Rows of keyed state.

    Attributes:
        rows: The rows.
        old_names: New name of a state -> the one that the rows know it by.
    """

    rows: RunRows
    old_names: Mapping[str, str]

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """The runs; see ``RunRows``."""
        known = {self.old_names.get(name, name): number for name, number in ids.items()}
        return self.rows.runs(known, max_parallelism)

    def duplicates(self, limit: int) -> list[Row]:
        """See ``RunRows``."""
        return self.rows.duplicates(limit)


@dataclass(frozen=True)
class RenamedElements:
    """Elements of operator state.

    Attributes:
        rows: The elements.
        state: The state that they become.
    """

    rows: ElementRows
    state: NewOperatorState

    def elements(self, index: int, parallelism: int) -> DataFrame:
        """The elements; see ``ElementRows``."""
        return self.rows.elements(index, parallelism)
