"""The keyed state of an operator that will be written: rows of DataFrames, all in one file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Protocol

from savepoint_formats.errors import DuplicateKeyError
from savepoint_formats.snapshots import SerializerEntry
from savepoint_formats.state_files.header import KeyedBackendHeader
from savepoint_formats.state_files.state_v2 import expect_synchronous
from savepoint_spark.session.tasks import run_through
from savepoint_spark.writing.keyed_files import KeyedFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from pyspark.sql import Row

    from savepoint_formats.metadata import KeyGroupsHandle
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files.header import StateMetaInfo
    from savepoint_spark.writing.handed_runs import RunSource
    from savepoint_spark.writing.write_context import WriteContext

_EXAMPLES = 3


class RunRows(Protocol):
    """Anything that becomes runs: rows of a DataFrame, or existing state."""

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """The runs; ``ids`` has the indices of states in the header. See ``run_encoding``."""

    def duplicates(self, limit: int) -> list[Row]:
        """Some keys, or keys and namespaces, with several rows where one is allowed."""


@dataclass(frozen=True)
class KeyedPlan:
    """The contents of an operator's files of keyed state.

    ``states`` are in the order of the header. The runs of the first ``numbered`` states have their
    indices already.

    Raises:
        ConversionError: A state is state V2, which can't lie in these files.
    """

    key: TypeSerializerSnapshot
    states: tuple[StateMetaInfo, ...]
    rows: tuple[RunRows, ...]
    numbered: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        expect_synchronous(self.states)

    @property
    def header(self) -> KeyedBackendHeader:
        return KeyedBackendHeader(
            is_compressed=False, key_serializer=SerializerEntry(self.key), states=self.states
        )

    def with_rows(self, other: KeyedPlan) -> Self:
        """The plan with the rows of another one, which have the same keys."""
        states, rows = (*self.states, *other.states), (*self.rows, *other.rows)
        return replace(self, states=states, rows=rows)

    def beside(
        self, passing: Iterable[StateMetaInfo], rows: Iterable[RunRows], order: Iterable[str]
    ) -> Self:
        """The plan beside ``passing`` states that pass through.

        All states stay in their old ``order``, which is that of columns, and new ones follow.
        States that are numbered already come first.
        """
        places = {name: place for place, name in enumerate(order)}
        others = (*self.states[self.numbered :], *passing)
        in_order = sorted(others, key=lambda info: places.get(info.name, len(places)))
        states = (*self.states[: self.numbered], *in_order)
        return replace(self, states=states, rows=(*rows, *self.rows))

    def files(self, context: WriteContext) -> KeyedFiles:
        return KeyedFiles(context.target, self.header, context.max_parallelism, context.parallelism)

    def check(self, max_parallelism: int) -> None:
        """Makes all runs as ``write`` does, and writes nothing; equal keys are not looked for."""
        for source in self._sources(max_parallelism):
            run_through(source.frame())

    def _sources(self, max_parallelism: int) -> list[RunSource]:
        ids = {state.name: number for number, state in enumerate(self.states)}
        return [rows.runs(ids, max_parallelism) for rows in self.rows]

    def write(self, context: WriteContext) -> dict[int, KeyGroupsHandle]:
        """Runs the job.

        Returns:
            Subtask -> its state; none for a subtask without keys.

        Raises:
            DuplicateKeyError: A key has two rows; the message names some.
        """
        sources = self._sources(context.max_parallelism)
        written = self._of_one(sources[0], context) if len(sources) == 1 else None
        if written is not None:
            return written
        try:
            return self._shuffled(sources, context)
        except DuplicateKeyError as error:
            raise self._with_examples(error) from error

    def _of_one(
        self, source: RunSource, context: WriteContext
    ) -> dict[int, KeyGroupsHandle] | None:
        """Writes the state of one savepoint; None if runs must meet in tasks."""
        files = self.files(context)
        sections = source.sections()
        if sections is not None and sections.can_be_copied_to(context.target):
            return files.copied(sections)
        if source.is_assembled_in(context.target):
            return files.assembled(source.placed(context.target))
        return None

    def _shuffled(
        self, sources: list[RunSource], context: WriteContext
    ) -> dict[int, KeyGroupsHandle]:
        runs = [source.handed_over(context.target) for source in sources]
        united = reduce(lambda frame, other: frame.unionAll(other), runs)
        return self.files(context).write(united)

    def _with_examples(self, error: DuplicateKeyError) -> DuplicateKeyError:
        rows_of_keys = [row for rows in self.rows for row in rows.duplicates(_EXAMPLES)]
        examples = "; ".join(
            ", ".join(f"{name} {value!r}" for name, value in row.asDict().items())
            for row in rows_of_keys
        )
        return DuplicateKeyError(
            f"{error}: e.g. {examples}; make one row of them first, or give with_state(…, merge=…)"
        )
