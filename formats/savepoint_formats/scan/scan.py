"""Scans of tables: planned from metadata, read split by split as Arrow batches.

A plan touches no bulk data. A split is small and can be pickled. Splits are independent of each
other, so any number of processes may read them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.errors import (
    ColumnNotFoundError,
    StateNotFoundError,
    StateTypeError,
    UndescribedSubclassError,
    within,
)
from savepoint_formats.metadata.references import COORDINATOR
from savepoint_formats.printable import alternatives
from savepoint_formats.scan.look_up import KeyFilter
from savepoint_formats.scan.merged_columns import MergedColumns, merge_of, mergeable_states
from savepoint_formats.scan.operator_scan import (
    OperatorStateSplit,
    RawKeyedSplit,
    raw_splits,
    read_operator_state,
    read_raw_state,
)
from savepoint_formats.scan.read_options import ReadOptions
from savepoint_formats.scan.results import TableResults, slices
from savepoint_formats.scan.splits import (
    SPLIT_SIZE,
    KeyedPlan,
    KeyedSplit,
    Split,
    check_subtasks,
    has_changelogs,
    has_heap_files,
    operator_splits,
    reasons,
    rows_in,
    stream_of,
)
from savepoint_formats.sources.entry_source import BATCH_SIZE, SourceSettings
from savepoint_formats.sources.keyed_source import keyed_source
from savepoint_formats.sources.raw_keyed_source import RawKeyedSource
from savepoint_formats.state_files.state import State, StateKind, key_layout
from savepoint_formats.tables.flat import flat_fields, flat_state, rows_of_elements
from savepoint_formats.tables.tables import (
    KEY,
    KEY_GROUP,
    NAMESPACE,
    SCOPE,
    SUBTASK,
    Column,
    column_type,
)
from savepoint_formats.tables.visible import visible_key, visible_values
from savepoint_formats.values.arrow_types import arrow_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.sources.keyed_source import KeyedSource
    from savepoint_formats.tables.tables import Table
    from savepoint_formats.values.kryo.dialect import KryoDialect

_READ_AS_BYTES = (
    "; or read it as bytes: with_forms(undescribed_subclasses='bytes') or"
    " --undescribed-subclasses bytes, or choose other columns"
)


@dataclass(frozen=True, repr=False)
class TableScan(TableResults):
    """A read of a table, in splits or as a whole.

    Attributes:
        directory: Where the savepoint is.
        operator: Operator of the table.
        table: The table.
        options: Wanted rows and columns.
        kryo: Knowledge about the Kryo that wrote object graphs.
        name: Name of the operator in errors; its uid or hash by default.
    """

    directory: SnapshotDirectory
    operator: OperatorState
    table: Table
    options: ReadOptions = field(default_factory=ReadOptions)
    kryo: KryoDialect | None = None
    name: str = ""

    @cached_property
    def shown(self) -> Table:
        """The table as the options show it."""
        return self.table.with_open_pojos() if self.options.has_open_pojos else self.table

    @property
    def kind(self) -> StateKind:
        """Kind of the table's first state; all are timers, or none is."""
        return self.table.states[0].kind

    @cached_property
    def schema(self) -> pa.Schema:
        """Schema of the batches."""
        fields = {field.name: field for field in self._fields()}
        wanted = tuple(fields) if self.options.columns is None else self.options.columns
        added = self.options.added()
        for name in added:
            if name not in fields:
                what = f"{self.table.name} has no {name.replace('_', ' ')}: it is no keyed state"
                raise ColumnNotFoundError(f"{what}, leave with_{name} out")
        names = (*wanted, *(name for name in added if name not in wanted))
        for name in names:
            if name not in fields:
                what = f"{self.table.name} has no column {name!r}"
                raise ColumnNotFoundError(f"{what}; {alternatives(name, fields)}")
        return pa.schema([fields[name] for name in names])

    def _fields(self) -> Iterator[pa.Field]:
        is_heap = self.kind.is_keyed and has_heap_files(self.operator)
        for column, state in self._columns():
            layout = state.timed_value if state and self.options.with_times else column.layout
            shown_type = column_type(self.shown, Column(column.name, layout))
            if state is not None:
                shown_type = self._merged.type_of(state, shown_type)
            if state is None or self.options.flat is None:
                yield pa.field(column.name, shown_type, metadata=reasons(layout, is_heap=is_heap))
            elif state == self._flat_state:
                yield from flat_fields(state.name, shown_type)
        if self.options.with_key_group and self.kind.is_keyed:
            yield pa.field(KEY_GROUP, pa.int32())
        if self.options.with_subtask and not self._is_local:
            yield pa.field(SUBTASK, pa.int32())
        if self.options.with_scope and self.kind.is_keyed:
            yield pa.field(SCOPE, pa.string())

    @property
    def _is_local(self) -> bool:
        """Whether the subtask is a column of the table itself."""
        return self.table.states[0].scope.is_local

    @cached_property
    def _flat_state(self) -> State:
        return flat_state(self.shown, self.options.flat or "")

    def _columns(self) -> Iterator[tuple[Column, State | None]]:
        """Each column of the table, and the state whose values it shows."""
        of_states = self.shown.state_columns() if self.kind.is_keyed else ()
        others = len(self.shown.columns) - len(of_states)
        yield from zip_longest(self.shown.columns[:others], ())
        yield from of_states

    def splits(self, size: int = SPLIT_SIZE) -> list[Split]:
        """Splits of about ``size`` bytes that together hold the whole table."""
        self.check()
        if self.kind.is_keyed:
            return list(self._keyed_splits(size, None))
        if self.kind.is_raw:
            return list(raw_splits(self.operator, self.kind, self.options.key_groups))
        splits = list(operator_splits(self.operator))
        if self.kind is StateKind.BROADCAST and not self.options.with_subtask:
            # All subtasks have equal entries, but one may lack the state.
            name = self.table.states[0].name
            own = [part for part in splits if name in {state.name for state in part.handle.states}]
            splits = (own or splits)[:1]
        return list(splits)

    def shared_splits(self, size: int = SPLIT_SIZE) -> list[Split]:
        """Splits for several tasks: a key group that is too large for one task is in several."""
        largest = self.options.chunk_size
        # One task reads the rows of a few keys.
        if not self.kind.is_keyed or largest is None or self.options.keys is not None:
            return self.splits(size)
        self.check()
        return list(self._keyed_splits(size, max(size, largest)))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, batch by batch; errors are those of ``splits`` and ``read``."""
        return chain.from_iterable(map(self.read, self.splits()))

    def count(self) -> int:
        """Number of rows; values that no row depends on are not decoded.

        Elements of list and union list state are counted in ``_metadata``; no file is read.

        Example:
            >>> savepoint.scan("summarize.keyed_state").count()
        """
        return sum(rows_in(self, split) for split in self.splits())

    @property
    def full_name(self) -> str:
        """``<operator>.<table>``, the operator by its uid or hash."""
        return f"{self._operator_name}.{self.table.name}"

    @property
    def _operator_name(self) -> str:
        return self.name or self.operator.uid or str(self.operator.operator_id)

    @property
    def _places(self) -> tuple[str, str]:
        return f"operator {self._operator_name}", f"table {self.table.name}"

    def check(self) -> None:
        """Checks the options and the subtasks; reads no file."""
        with within(*self._places):
            check_subtasks(self.operator, self.directory.metadata_path)
        self.check_options()

    def check_options(self) -> None:
        """Checks that the table has all that the options ask for.

        Raises:
            SavepointError: As ``splits`` does.
        """
        name, kind = self.table.name, self.kind
        if self.options.flat is not None and (not kind.is_keyed or kind is StateKind.TIMERS):
            raise StateNotFoundError(f"{name} is no keyed state, so it has no flat views")
        has_groups = kind.is_keyed or kind is StateKind.RAW_KEYED
        if self.options.key_groups is not None and not has_groups:
            raise ColumnNotFoundError(f"{name} has no key groups to choose rows by")
        # Both check options.
        _ = self.schema, self._key_filter

    def _keyed_splits(self, size: int, largest: int | None) -> Iterator[Split]:
        names = tuple(state.name for state in self.table.states)
        plan = KeyedPlan(self.directory, self.operator, names, self._key_filter, size, largest)
        yield from plan.splits(has_timers=self.kind is StateKind.TIMERS)

    @cached_property
    def _merged(self) -> MergedColumns:
        given = self.options.merge or {}
        if not given:
            return MergedColumns({})
        merged = mergeable_states(self.shown.states, given, self.table.name)
        merges = {name: merge_of(merged[name], merge) for name, merge in given.items()}
        return MergedColumns(merges, self.options.with_times)

    @cached_property
    def _key_filter(self) -> KeyFilter:
        options = self.options
        if options.keys is None and not self.kind.is_keyed:
            return KeyFilter(None, ())
        if options.keys is not None and KEY not in {column.name for column in self.table.columns}:
            raise ColumnNotFoundError(f"{self.table.name} has no column {KEY!r} to choose rows by")
        return KeyFilter.of(
            key_layout(self.table.states[0]),
            self.operator.max_parallelism,
            options.keys,
            options.key_groups,
        )

    def read(self, split: Split) -> Iterator[pa.RecordBatch]:
        """Rows of a split, batch by batch."""
        places = [*self._places]
        if split.subtask != COORDINATOR:
            places.append(f"subtask {split.subtask}")
        with within(*places):
            try:
                for columns in self._read(split):
                    yield from slices(self._batch(columns, split))
            except UndescribedSubclassError as error:
                # With open POJOs it is a key, which is never bytes.
                error.message += "" if self.options.has_open_pojos else _READ_AS_BYTES
                raise

    def _read(self, split: Split) -> Iterator[dict[str, pa.Array]]:
        if isinstance(split, OperatorStateSplit):
            (state,) = self.shown.states
            names = [column.name for column in self.table.columns]
            # Unwanted values may hide fields, but no entries.
            is_wanted = names[-1] in self.schema.names
            hides = self.options.hides if is_wanted else self.options.hides_unwanted
            for arrays in read_operator_state(self.directory, split, state, self.kryo, hides):
                yield self._key_filter.apply(dict(zip(names, arrays, strict=True)))
            return
        if isinstance(split, KeyedSplit):
            yield from map(self._key_filter.apply, self._keyed(split))
        elif isinstance(split, RawKeyedSplit) and self.kind is StateKind.TIMERS:
            known = self.operator.max_parallelism, self.table.states[0].names
            source = RawKeyedSource(self.directory, split.handle, self.kryo, *known)
            yield from map(self._key_filter.apply, self._timers(source, split.key_groups))
        else:
            yield from read_raw_state(self.directory, split, self.table.name, self.kryo)

    def _keyed(self, split: KeyedSplit) -> Iterator[dict[str, pa.Array]]:
        settings = SourceSettings(
            max_parallelism=self.operator.max_parallelism,
            kryo=self.kryo,
            chunk_size=self.options.chunk_size,
            hidden=self._hidden_states(),
            has_open_pojos=self.options.has_open_pojos,
            hides=self.options.hides,
            shows_undecided=self.options.flat is None,
            has_divided_rows=self._has_divided_rows,
            group_split=split.group_split,
            keys=self._written_keys(split),
            names=self.table.states[0].names,
        )
        key = key_layout(self.table.states[0])
        source = keyed_source(self.directory, split.handle, key, settings)
        if self.kind is StateKind.TIMERS:
            return self._timers(source, split.key_groups)
        return self._rows(source, split.key_groups)

    def _written_keys(self, split: KeyedSplit) -> Mapping[int, tuple[bytes, ...]] | None:
        """Wanted keys as entries begin with them; entries of timers begin with a time."""
        is_timers = self.kind is StateKind.TIMERS
        return None if is_timers or split.is_changed else self._key_filter.written

    @property
    def _has_divided_rows(self) -> bool:
        """Whether each entry has its own rows, so that several batches may have rows of a key."""
        is_flat = self.options.flat is not None and not self.options.merge
        return is_flat and self._flat_state.instances == self._flat_state.stored

    def _hidden_states(self) -> frozenset[str]:
        """States without a wanted column; they still tell which keys there are."""
        if self.options.flat is not None or self.options.merge:
            return frozenset()
        shown, columns = self.schema.names, self._columns()
        names = {state.name for column, state in columns if state and column.name not in shown}
        if has_changelogs(self.operator):
            # Changes of lists and maps need the values before.
            values = {state.name for state in self.table.states if state.kind is StateKind.VALUE}
            return frozenset(names & values)
        return frozenset(names)

    def _rows(
        self, source: KeyedSource, key_groups: KeyGroupRange
    ) -> Iterator[dict[str, pa.Array]]:
        # A row exists if any state has it, so all states are read.
        states = self.shown.states if self.options.flat is None else (self._flat_state,)
        if self.options.is_narrow:
            wanted = self.schema.names
            states = tuple(s for column, s in self._columns() if s and column.name in wanted)
        types = {state.name: arrow_type(state.stored) for state in states}
        shown, *_ = (column.name for column, state in self._columns() if state in states)
        has_keys = self.options.keys is not None or bool({KEY, NAMESPACE} & {*self.schema.names})
        for batch in source.batches(frozenset(types), key_groups):
            rows = batch.joined(types)
            # Without keys, the column only tells the number of rows.
            columns = {KEY: pa.nulls(len(rows))}
            if has_keys:
                keys = rows.keys()
                columns = {KEY: visible_key(keys.field(KEY)), NAMESPACE: keys.field(NAMESPACE)}
                del keys
            if self.options.with_key_group:
                columns[KEY_GROUP] = pa.array(rows.key_groups)
            for column, state in self._columns():
                if state is not None and state.name in rows.columns:
                    values = rows.columns[state.name]
                    values = visible_values(state, values, with_times=self.options.with_times)
                    columns[column.name] = self._merged.values_of(state, values)
            # The bytes of the batch may be needed no more while others use its columns.
            del batch, rows
            is_flat = self.options.flat is not None and shown in columns
            yield from (
                rows_of_elements(columns, columns.pop(shown), BATCH_SIZE) if is_flat else [columns]
            )

    def _timers(
        self, source: KeyedSource | RawKeyedSource, key_groups: KeyGroupRange
    ) -> Iterator[dict[str, pa.Array]]:
        types = {state.name: arrow_type(state.stored) for state in self.table.states}
        for rows in source.timers(key_groups):
            if rows.state in types:
                yield rows.columns(types[rows.state])

    def _batch(self, columns: dict[str, pa.Array], split: Split) -> pa.RecordBatch:
        rows = len(next(iter(columns.values())))
        if self.options.with_subtask or self._is_local:
            columns[SUBTASK] = pa.array(np.full(rows, split.subtask, np.int32))
        if self.options.with_scope and self.kind.is_keyed:
            columns[SCOPE] = pa.repeat(self.table.states[0].scope.value, rows)
        arrays = [
            columns[field.name] if field.name in columns else pa.nulls(rows, field.type)
            for field in self.schema
        ]
        for wanted, array in zip(self.schema, arrays, strict=True):
            if array.type != wanted.type:
                path = self.directory.file(stream_of(split)).path
                raise StateTypeError(
                    f"{path}: column {wanted.name!r} is {array.type} here, {wanted.type} elsewhere"
                )
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
