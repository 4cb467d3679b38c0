"""Rows of subtasks become runs of local state, and these become files, or ordinary keyed state.

The runs are those of keyed state with one more column, ``subtask INT``: the subtask whose instance
of the key group they belong to. Instances are merged by a rule, or by the job's own function.

A subtask takes the instances of its key groups in the order of the subtasks that they come from.
Several instances of a key group are held in memory, and entries of the same key are joined as
bytes. A key group with one instance passes through.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from savepoint_database.types import given, in_one_form, python_values
from savepoint_formats.errors import MergeError, SchemaChangeError, SubtaskError
from savepoint_formats.key_groups import KeyGroupRange
from savepoint_formats.layout import without_ttl
from savepoint_formats.pass_through import LocalSections, MergedInstances
from savepoint_formats.scan import instance_layout, merge_of, mergeable_states
from savepoint_formats.state_files import as_keyed, keyed_states
from savepoint_formats.tables import SUBTASK
from savepoint_formats.values import arrow_type
from savepoint_spark.changing.change import Change, Part
from savepoint_spark.writing.keyed_plan import KeyedFiles, KeyedPlan, owner_of, runs_of
from savepoint_spark.writing.run_encoding import RUN_SCHEMA, RUNS, gathered
from savepoint_spark.writing.shuffled_runs import RunSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyspark.sql import Column, Row

    from savepoint_database.snapshot import Operator
    from savepoint_formats.scan import MergeInstances
    from savepoint_formats.state_files import Run, State
    from savepoint_spark.writing.keyed_rows import KeyedRows
    from savepoint_spark.writing.run_encoding import RunEncoding
    from savepoint_spark.writing.shuffled_runs import RunRow
    from savepoint_spark.writing.write_context import WriteContext

    Merge: TypeAlias = "str | Callable[[Any, Any], Any] | Merging"
    """A rule by its name, a function of two values, or an object with such a function ``merge``."""

LOCAL_RUNS = f"{RUNS}, {SUBTASK} INT"
_LOCAL_RUN_SCHEMA = RUN_SCHEMA.append(pa.field(SUBTASK, pa.int32()))


class Merging(Protocol):
    """Merges two values, like an ``AggregateFunction``."""

    def merge(self, value: Any, other: Any) -> Any:
        """Merges two values into one."""


@dataclass(frozen=True)
class FunctionMerge:
    """Merges instances by a user's function, two at a time."""

    state: str
    function: Callable[[Any, Any], Any]
    value_type: pa.DataType

    def __call__(self, lists: pa.ListArray) -> pa.Array:
        """The value of each list of instances; ``MergeError`` for one of another type."""
        convert = given(self.value_type)
        merge = in_one_form(self.function, self.value_type, f"state {self.state!r}")
        merged = [reduce(merge, instances) for instances in python_values(lists)]
        try:
            return pa.array([convert(value) for value in merged], self.value_type)
        except (TypeError, ValueError, OverflowError, AttributeError) as error:
            raise MergeError(
                f"the merge function of state {self.state!r} did not give a"
                f" {self.value_type}: {error}"
            ) from error


def merge_instances(state: State, merge: Merge) -> MergeInstances:
    """A function that merges the instances of a state, without the times of TTL; see ``Merge``."""
    if isinstance(merge, str):
        return merge_of(state, merge)
    function = getattr(merge, "merge", merge)
    if not callable(function):
        raise TypeError(
            f"merge of state {state.name!r} is {merge!r}, expected a rule such as 'sum', or a"
            " function of two values"
        )
    value_type = arrow_type(without_ttl(instance_layout(state)))
    return FunctionMerge(state.name, function, value_type)


def merged_instances(operator: Operator, merge: Mapping[str, Merge]) -> dict[str, MergedInstances]:
    """The merges of all local states of an operator, by name; ``MergeError`` if one has none."""
    states = operator.catalog.states
    mergeable = mergeable_states(states, merge, f"operator {operator.name}")
    functions = {
        name: merge_instances(mergeable[name], function) for name, function in merge.items()
    }
    missing = [name for name in mergeable if name not in merge]
    if missing:
        kind = mergeable[missing[0]].job_kind.value
        raise MergeError(
            f"nothing says how the instances of {kind} state {missing[0]!r} of {operator.name} are"
            " merged: give it a rule such as sum, or a function of two values"
        )
    local = (state for state in states if state.scope.is_local)
    return {
        state.name: MergedInstances(state, functions.get(state.name), operator.kryo)
        for state in local
    }


def of_subtask(runs: pa.RecordBatch, subtask: int) -> pa.RecordBatch:
    """The runs with a column for their subtask."""
    subtasks = pa.repeat(pa.scalar(subtask, pa.int32()), len(runs))
    return pa.RecordBatch.from_arrays([*runs.columns, subtasks], schema=_LOCAL_RUN_SCHEMA)


def _local_runs(
    encoding: RunEncoding, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The runs of the rows of a partition, in a task; ``SubtaskError`` for a row without subtask."""
    encoders = encoding.encoders()
    for batch in gathered(batches):
        for subtask, rows in _by_subtask(batch):
            for runs in encoding.encoded(rows, encoders):
                yield of_subtask(runs, subtask)


def _by_subtask(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each subtask; a partition usually has only one."""
    column = batch.column(SUBTASK)
    if column.null_count:
        raise SubtaskError(f"{column.null_count} rows of {len(column)} have no subtask")
    subtasks = pc.unique(column).to_pylist()
    for subtask in subtasks:
        is_whole = len(subtasks) == 1
        yield subtask, batch if is_whole else batch.filter(pc.equal(column, subtask))


@dataclass(frozen=True)
class LocalStateRows:
    """Rows of a DataFrame that become local state of the subtasks in a column."""

    rows: KeyedRows
    subtask: Column

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        columns, encoding = self.rows.encoded_columns(ids, max_parallelism)
        columns[SUBTASK] = self.subtask
        selected = self.rows.data.select(*(column.alias(name) for name, column in columns.items()))
        return RunSource(selected, partial(_local_runs, encoding), LOCAL_RUNS)

    def duplicates(self, limit: int) -> list[Row]:
        return self.rows.repeated({SUBTASK: self.subtask}, limit)


@dataclass(frozen=True, slots=True)
class InstanceFiles(KeyedFiles):
    """Files of key groups that may have several instances, from rows of ``subtasks`` subtasks."""

    subtasks: int
    instances: LocalSections

    order: ClassVar[tuple[str, ...]] = ("key_group", SUBTASK)

    def sections(self, rows: Iterable[RunRow]) -> Iterator[tuple[int, Iterator[Run]]]:
        """See ``KeyedFiles.sections``; raises ``SubtaskError`` for an unknown subtask."""
        for key_group, of_group in groupby(rows, lambda row: row.key_group):
            instances = [
                list(runs_of(key_group, of_subtask))
                for subtask, of_subtask in groupby(of_group, lambda row: row.subtask)
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
    """The files of local state, each with all key groups; see ``key_groups.scope``."""

    def owner(self) -> Column:
        """The subtask that gets a local key group; they are counted over all subtasks."""
        number = f"(CAST({SUBTASK} AS BIGINT) * {self.max_parallelism} + key_group)"
        owner = owner_of(number, self.parallelism, self.subtasks * self.max_parallelism)
        # Rows of a missing subtask must go somewhere too; sections() refuses them.
        return F.greatest(F.lit(0), F.least(owner, F.lit(self.parallelism - 1)))

    def key_groups(self, subtask: int) -> KeyGroupRange:  # noqa: ARG002  # every subtask has all
        return KeyGroupRange(0, self.max_parallelism - 1)


@dataclass(frozen=True)
class LocalKeyedPlan(KeyedPlan):
    """The contents of an operator's files of local state; ``subtasks`` defaults to the parallelism."""

    subtasks: int | None = None

    def files(self, context: WriteContext) -> LocalFiles:
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
    """The contents of files whose state was local; ``merged`` is in the order of the header."""

    subtasks: int = 1
    merged: tuple[MergedInstances, ...] = ()

    def files(self, context: WriteContext) -> InstanceFiles:
        states = tuple(merged.state for merged in self.merged)
        return InstanceFiles(
            context.target,
            self.header,
            context.max_parallelism,
            context.parallelism,
            self.subtasks,
            LocalSections(states, context.max_parallelism, self.merged),
        )


@dataclass(frozen=True)
class MergedLocal(Change):
    """Local state becomes ordinary keyed state; ``instances`` has the merge of each state."""

    instances: Mapping[str, MergedInstances]

    does: ClassVar = frozenset({Part.MERGED})

    def merged(self, plan: LocalKeyedPlan) -> KeyedPlan:
        """See ``Change``."""
        merged = tuple(self.instances[info.name] for info in plan.states)
        subtasks = plan.subtasks or 1
        return MergedPlan(plan.key, tuple(map(as_keyed, plan.states)), plan.rows, subtasks, merged)

    def expect_followed(self, operator: str) -> None:
        """See ``Change``."""
        raise SchemaChangeError(
            f"operator {operator} gets merged state, which this change would not see: make it before"
            " merge_local, or write that, and change the new savepoint"
        )
