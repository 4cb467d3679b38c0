"""The state with which a function begins: the state of an operator in a savepoint.

State is read where the rows are processed. Among its rows, a task gets a mark for each split of the
operator's key groups, and it reads the splits that have rows. So no state is shuffled, and
untouched entries are copied as bytes; see ``initial_keys``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from pyspark.sql import functions as F

from savepoint_formats.errors import (
    KeyTypeError,
    RefusedError,
    RescaleError,
    StateTypeError,
    within,
)
from savepoint_formats.layout import Enum, Pojo, without_ttl
from savepoint_formats.pass_through import StoredStates
from savepoint_formats.state_files import StateKind
from savepoint_functions.functions.sorted_inputs import ORDER, order_of
from savepoint_spark.writing import NewState, StoredTypes

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame

    from savepoint_database.snapshot import Operator
    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.layout import Layout
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files import StateMetaInfo
    from savepoint_functions.functions.result_table import FunctionState

SPLIT_SIZE = 8 << 20
"""Bytes of state that are looked into at once, unless a single key group is larger."""


@dataclass(frozen=True)
class InitialTask:
    """The initial state for tasks: its place, and its key groups in ascending splits.

    ``places`` maps states to their places in a snapshot, whose length is ``count``. ``ids`` maps
    them to their indices in the header of the new files; None if nothing is written. ``reached``
    maps states of timers to the time in ms up to which timers of keys without rows fire too.
    """

    stored: StoredStates
    splits: tuple[KeyGroupRange, ...]
    places: Mapping[str, int]
    count: int
    ids: Mapping[str, int] | None
    reached: Mapping[str, int]


@dataclass(frozen=True)
class InitialState:
    """The state of an operator, as far as a function registers it.

    ``states`` are the states that the function registers, with the serializers of the savepoint if
    it has them. ``names`` are the states of the savepoint.
    """

    operator: Operator
    stored: StoredStates = field(repr=False)
    states: tuple[FunctionState, ...]
    names: frozenset[str]

    @classmethod
    def of(
        cls, operator: Operator, key: TypeSerializerSnapshot, states: tuple[FunctionState, ...]
    ) -> Self:
        """The state of an operator, for these keys and states of a function.

        Raises:
            KeyTypeError: Its keys are of another type.
            StateTypeError: A state is of another kind or type; the message says which.
            RefusedError: It is local state.
        """
        stored_states = operator.catalog.states
        if any(state.scope.is_local for state in stored_states):
            raise RefusedError(
                f"operator {operator.name} has local keyed state, and a key has several"
                " instances: write it with merge_local first, and continue from that"
            )
        stored = StoredStates(operator.directory, operator.record, key.layout(), operator.kryo)
        if not any(state.kind.is_keyed for state in stored_states):
            return cls(operator, stored, states, frozenset())
        types = StoredTypes.of(operator)
        if types.key.layout() != key.layout():
            raise KeyTypeError(
                f"keys of operator {operator.name} are {types.key.layout()}, those of the rows are"
                f" {key.layout()}: give key_by the key_type that the job has"
            )
        infos = {info.name: info for info in types.states}
        known = []
        with within(f"operator {operator.name}"):
            for state in states:
                info = infos.get(state.new.name)
                if info is not None:
                    expect_same_state(state, info)
                    state = replace(state, new=NewState(info, state.new.column))  # noqa: PLW2901
                known.append(state)
        names = frozenset(state.new.name for state in states if state.new.name in infos)
        return cls(operator, stored, tuple(known), names)

    @property
    def max_parallelism(self) -> int:
        return self.operator.record.max_parallelism

    def expect(self, max_parallelism: int) -> None:
        """Raises ``RescaleError`` if the savepoint has another number of key groups."""
        if max_parallelism != self.max_parallelism:
            raise RescaleError(
                f"operator {self.operator.name} has {self.max_parallelism} key groups, and must not be"
                f" written with {max_parallelism}: write it with as many, and rescale the result"
            )

    def task(
        self, borders: Sequence[int], ids: Mapping[str, int] | None, reached: Mapping[str, int]
    ) -> InitialTask:
        """The state for tasks that begin with the key groups of ``borders``; see ``InitialTask``."""
        splits = self.stored.key_group_ranges(SPLIT_SIZE, borders) if self.names else ()
        places = {state.new.name: place for place, state in enumerate(self.states)}
        of_state = {name: places[name] for name in self.names}
        passed = None if ids is None else {name: ids[name] for name in self.names}
        known = {name: time for name, time in reached.items() if name in self.names}
        return InitialTask(self.stored, splits, of_state, len(places), passed, known)


def with_marks(rows: DataFrame, task: InitialTask) -> DataFrame:
    """The rows, and a row without a key for each split, which sorts before the rows of the split."""
    if not task.splits:
        return rows
    places = [(order_of(split.start),) for split in task.splits]
    marks = rows.sparkSession.createDataFrame(places, f"{ORDER} BIGINT")
    columns = (
        F.col(ORDER)
        if column.name == ORDER
        else F.lit(None).cast(column.dataType).alias(column.name)
        for column in rows.schema
    )
    return rows.unionAll(marks.select(*columns))


def expect_same_state(state: FunctionState, info: StateMetaInfo) -> None:
    """Raises ``StateTypeError`` if the savepoint has another state of that name."""
    new, old = state.new, NewState(info, None)
    what = f"state {new.name!r}"
    if new.kind is not old.kind:
        raise StateTypeError(
            f"{what} is {old.kind.value} state in the savepoint, and the function registers it as"
            f" {new.kind.value} state"
        )
    if (new.namespace and new.namespace.layout()) != (old.namespace and old.namespace.layout()):
        raise StateTypeError(
            f"{what} has namespaces {_text(old)} in the savepoint, and {_text(new)} in the function"
        )
    if new.kind is not StateKind.TIMERS and new.stored != old.stored:
        raise StateTypeError(
            f"{what} is {old.stored} in the savepoint, and {new.stored} in the function:"
            f" {_difference(old.stored, new.stored)}"
        )


def _difference(old: Layout, new: Layout) -> str:
    """The reason why Flink would refuse or migrate a state with the new layout."""
    if (without_ttl(old) == old) != (without_ttl(new) == new):
        return "one of them has a time to live, and the other has none"
    match without_ttl(old), without_ttl(new):
        case Pojo() as was, Pojo() as is_now if was.class_name == is_now.class_name:
            fields, wanted = (
                dict(zip(layout.names, layout.fields, strict=True)) for layout in (was, is_now)
            )
            others = [name for name in fields.keys() & wanted if fields[name] != wanted[name]]
            if not others:
                return (
                    f"Flink would migrate it, of which fields {_names(wanted, fields)} are new and"
                    f" {_names(fields, wanted)} gone: write it with add_field and drop_field first"
                )
            return f"field {min(others)!r} has another type, which Flink refuses"
        case Enum(_, before), Enum(_, after) if after[: len(before)] == before:
            return "Flink would take new constants after the old ones: leave them out here"
        case _:
            return "Flink refuses it"


def _names(names: Iterable[str], known: Container[str]) -> str:
    return ", ".join(name for name in names if name not in known) or "none"


def _text(state: NewState) -> str:
    return "none" if state.namespace is None else f"of {state.namespace.layout()}"
