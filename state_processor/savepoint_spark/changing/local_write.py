"""Runs of local state become files: of subtasks again, or of ordinary keyed state.

A subtask takes the instances of its key groups in the order of the subtasks that they come from.
Where it has several of one key group, these are held in memory, and entries of the same key are
put together as bytes; a key group of one instance passes through.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING, ClassVar

from pyspark.sql import functions as F

from savepoint_formats.errors import SubtaskError
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.pass_through.merged_instances import LocalSections
from savepoint_formats.state_files.state import keyed_states
from savepoint_formats.tables.tables import SUBTASK
from savepoint_spark.writing.keyed_files import KeyedFiles, owner_of, runs_of
from savepoint_spark.writing.keyed_plan import KeyedPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import Column

    from savepoint_formats.pass_through.merged_instances import MergedInstances
    from savepoint_formats.state_files.canonical_file import Run
    from savepoint_spark.writing.handed_runs import Piece
    from savepoint_spark.writing.write_context import WriteContext


@dataclass(frozen=True, slots=True)
class InstanceFiles(KeyedFiles):
    """Files of key groups of which there may be several instances.

    Attributes:
        subtasks: How many subtasks the rows are of.
        instances: How the instances of a key group become one.
    """

    subtasks: int
    instances: LocalSections

    order: ClassVar[tuple[str, ...]] = ("key_group", SUBTASK)

    def sections(self, pieces: Iterable[Piece]) -> Iterator[tuple[int, Iterator[Run]]]:
        """See ``KeyedFiles.sections``.

        Raises:
            SubtaskError: A row is of a subtask that there is not.
        """
        for key_group, of_group in groupby(pieces, lambda piece: piece.key_group):
            instances = [
                list(runs_of(key_group, of_subtask))
                for subtask, of_subtask in groupby(of_group, lambda piece: piece.subtask)
                if self._is_known(subtask)
            ]
            present = [runs for runs in instances if runs]
            if len(present) == 1 and not self.instances.merged:
                yield key_group, iter(present[0])
            elif present:
                yield key_group, self.instances.runs(key_group, chain.from_iterable(present))

    def _is_known(self, subtask: int) -> bool:
        if 0 <= subtask < self.subtasks:
            return True
        raise SubtaskError(
            f"a row of subtask {subtask}, expected 0 to {self.subtasks - 1}: parallelism is the"
            " number of subtasks that have local state"
        )


@dataclass(frozen=True, slots=True)
class LocalFiles(InstanceFiles):
    """The files of local state, each with all key groups; see ``savepoint_formats.key_groups.scope``."""

    def owner(self) -> Column:
        """The subtask that gets a local key group: they are counted over the subtasks."""
        number = f"(CAST({SUBTASK} AS BIGINT) * {self.max_parallelism} + key_group)"
        owner = owner_of(number, self.parallelism, self.subtasks * self.max_parallelism)
        # A subtask that there is not is found out where its rows are, which must be somewhere.
        return F.greatest(F.lit(0), F.least(owner, F.lit(self.parallelism - 1)))

    def key_groups(self, subtask: int) -> KeyGroupRange:  # noqa: ARG002  # every subtask has all
        """All key groups."""
        return KeyGroupRange(0, self.max_parallelism - 1)


@dataclass(frozen=True)
class LocalKeyedPlan(KeyedPlan):
    """What the files of an operator's local state are to hold.

    Attributes:
        subtasks: How many subtasks the rows are of; None if as many as the operator has.
    """

    subtasks: int | None = None

    def files(self, context: WriteContext) -> LocalFiles:
        """See ``KeyedPlan``."""
        return LocalFiles(
            context.target,
            self.header,
            context.max_parallelism,
            context.parallelism,
            self.subtasks or context.parallelism,
            LocalSections(keyed_states(self.header), context.max_parallelism),
        )


@dataclass(frozen=True)
class MergedPlan(KeyedPlan):
    """What the files of an operator hold whose state was local before.

    Attributes:
        subtasks: How many subtasks the rows are of.
        merged: How each state is merged, in the order of the header.
    """

    subtasks: int = 1
    merged: tuple[MergedInstances, ...] = ()

    def files(self, context: WriteContext) -> InstanceFiles:
        """See ``KeyedPlan``."""
        states = tuple(merged.state for merged in self.merged)
        return InstanceFiles(
            context.target,
            self.header,
            context.max_parallelism,
            context.parallelism,
            self.subtasks,
            LocalSections(states, context.max_parallelism, self.merged),
        )
