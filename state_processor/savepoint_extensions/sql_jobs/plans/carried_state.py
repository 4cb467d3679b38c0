"""New forms of the state of a SQL operator whose rows have another layout in a new query.

Columns match by their origins; see ``lineage``. A column that only the new query has is null,
or the first value of an accumulator. The entries of a state become other entries:

| part                      | change                                                                 |
|---------------------------|------------------------------------------------------------------------|
| keys, also of timers      | columns in another order, of a wider type; they go to other key groups |
| keys of maps, values      | columns in another order, added, removed, of a wider type              |
| values                    | with the time of their last access, or without it                      |
| name of a data view       | has the number of its aggregate call: ``distinctAcc_1``                |

Rows that are keys of a map may become equal when a column is removed: their numbers are added up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from savepoint_extensions.sql_jobs.plans.aggregate_calls import ROW_COUNT, AccumulatorColumn
from savepoint_extensions.sql_jobs.plans.node_rows import fits
from savepoint_formats.errors import PlanError, within
from savepoint_formats.layout import (
    BinaryRow,
    Boolean,
    Framed,
    Int,
    Layout,
    LogicalType,
    Long,
    MapOf,
    Nullable,
    Repeated,
    Struct,
    Text,
    Ttl,
    Utf8,
    nodes_of,
    rebuilt,
)
from savepoint_formats.pass_through import with_access_times, without_access_times
from savepoint_formats.snapshots import BASE, inner, row_data, with_nested
from savepoint_formats.state_files import VALUE_SERIALIZER, BackendStateType, StateKind, keyed_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from savepoint_extensions.sql_jobs.plans.compiled_plan import NamedColumn, Row
    from savepoint_extensions.sql_jobs.plans.node_rows import NodeRows
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files import State, StateMetaInfo

_ROW = inner("org.apache.flink.table.runtime.typeutils.RowDataSerializer")
_MAP = f"{BASE}MapSerializerSnapshot"
_VIEW = re.compile(r"(distinctAcc_|agg)(\d+)(.*)")

_WITHOUT_ROWS = (Boolean, Framed, Int, Long, MapOf, Nullable, Repeated, Struct, Text, Ttl, Utf8)
"""Layouts of values that have no column of the query: numbers, texts, flags, windows."""

Value = int | str | None


@dataclass(frozen=True, slots=True)
class ReshapedState:
    """A state and its new form.

    Attributes:
        info: Its new header entry, still with its old name.
        old: The state as it is stored; each row has names of fields that are unique in the state.
        new: The state as it will be.
        sources: New name of a field of a row -> its old name, or None if it is new.
        initial: Values of new fields that don't begin with null.
        has_counts: Whether keys of a map may become equal; then the numbers beside them are added
            up.
    """

    info: StateMetaInfo
    name: str
    old: State
    new: State
    sources: Mapping[str, str | None]
    initial: Mapping[str, Value]
    has_counts: bool = False

    @property
    def is_same(self) -> bool:
        """Whether its entries and its name stay."""
        stays = self.keeps(self.old.stored, self.new.stored) and self.old.key == self.new.key
        return stays and self.name == self.info.name

    def keeps(self, old: Layout, new: Layout) -> bool:
        """Whether values of a layout in the old state keep their bytes in the new state."""
        names = {name for row in nodes_of(new, BinaryRow) for name in row.names}
        return old == new and all(self.sources.get(name, name) == name for name in names)


@dataclass(frozen=True, slots=True)
class CarriedState:
    """The new form of the keyed state of an operator.

    Attributes:
        moves_keys: Whether the bytes of keys change, and with them their key groups.
        gone: States that the new query doesn't have.
    """

    key: TypeSerializerSnapshot
    moves_keys: bool
    states: Mapping[str, ReshapedState]
    gone: frozenset[str]

    @property
    def is_same(self) -> bool:
        """Whether nothing changes."""
        return not (self.gone or self.moves_keys) and all(it.is_same for it in self.states.values())


@dataclass(frozen=True, slots=True)
class _RowChange:
    """A row's columns before and after. ``prefix`` begins the names of its fields."""

    prefix: str
    old: Row
    new: Row

    def origins(self) -> Iterator[int | None]:
        """The old column of each new one; of those with one origin, the first one of its type."""
        places: dict[object, list[int]] = {}
        for number, column in enumerate(self.old):
            places.setdefault(column.origin, []).append(number)
        for column in self.new:
            known = places.get(column.origin, [])
            same = [it for it in known if self.old[it].type == column.type]
            origin = next(iter((*same, *known)), None)
            if origin is not None and len(known) > 1:
                known.remove(origin)
            yield origin

    @property
    def loses_columns(self) -> bool:
        return bool(set(range(len(self.old))) - set(self.origins()))

    def sources(self) -> dict[str, str | None]:
        names = enumerate(self.origins())
        return {
            f"{self.prefix}{number}": None if origin is None else f"{self.prefix}{origin}"
            for number, origin in names
        }

    def initial(self) -> dict[str, Value]:
        return {
            f"{self.prefix}{number}": column.initial
            for number, (column, origin) in enumerate(zip(self.new, self.origins(), strict=True))
            if origin is None
            and isinstance(column, AccumulatorColumn)
            and column.initial is not None
        }

    def snapshot(self, row: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        """The new serializer of the row; kept columns keep theirs."""
        types, nested = [], []
        for column, origin in zip(self.new, self.origins(), strict=True):
            if origin is not None and column.type == self.old[origin].type:
                types.append(row["types"][origin])
                nested.append(row.nested[origin])
            else:
                made = row_data([_type(column)])
                types += made["types"]
                nested += made.nested
        return row.with_fields(types=tuple(types), nested=tuple(nested))

    def named(self, layout: Layout, *, is_new: bool) -> Layout:
        """A layout whose row has names of fields that tell where they come from."""
        count = len(self.new) if is_new else len(self.old)

        def change(node: Layout) -> Layout:
            if isinstance(node, BinaryRow) and len(node.types) == count:
                return replace(node, names=tuple(f"{self.prefix}{n}" for n in range(count)))
            return node

        return rebuilt(layout, change)


def _type(column: NamedColumn) -> LogicalType:
    if column.type is None:
        raise PlanError(f"column {column.name} is new, and its type isn't understood")
    return column.type


def carried_state(
    old: NodeRows, new: NodeRows, key: TypeSerializerSnapshot, infos: tuple[StateMetaInfo, ...]
) -> CarriedState:
    """The keyed state of an operator of the old query as the new query's operator has it.

    ``old`` and ``new`` have columns with origins. ``key`` and ``infos`` are the serializers in the savepoint.

    Raises:
        PlanError: Rows don't have the columns of the plan, or a new column can't be made.
    """
    if new.has_rows_of(old):
        return CarriedState(key, False, {}, frozenset())
    keys = _key_change(old, new, key)
    new_key = key if keys is None else _with_rows(key, keys.snapshot)
    views = _views(old, new)
    states, gone = {}, set()
    for info in infos:
        name = _new_name(info.name, views)
        if name is None:
            gone.add(info.name)
            continue
        with within(f"state {info.name!r}"):
            states[info.name] = _Reshaping(old, new, keys, key, new_key).state(info, name)
    return CarriedState(new_key, key != new_key or _reorders(keys), states, frozenset(gone))


def _reorders(change: _RowChange | None) -> bool:
    return change is not None and list(change.origins()) != list(range(len(change.old)))


def _views(old: NodeRows, new: NodeRows) -> dict[tuple[str, int], int | None]:
    """Kind and number of a data view -> its number in the new query, or None if it is gone."""
    before, after = tuple(old.calls.distinct), tuple(new.calls.distinct)
    numbers = {
        ("distinctAcc_", number): after.index(origins) if origins in after else None
        for number, origins in enumerate(before)
    }
    calls = [call.origin for call in new.calls.calls]
    for number, call in enumerate(old.calls.calls):
        numbers["agg", number] = calls.index(call.origin) if call.origin in calls else None
    return numbers


def _new_name(name: str, views: Mapping[tuple[str, int], int | None]) -> str | None:
    matched = _VIEW.fullmatch(name)
    if matched is None:
        return name
    kind, number, rest = matched.groups()
    new = views.get((kind, int(number)))
    return None if new is None else f"{kind}{new}{rest}"


def _key_change(old: NodeRows, new: NodeRows, key: TypeSerializerSnapshot) -> _RowChange | None:
    row, before, after = _row_in(key.layout()), old.key(), new.key()
    if row is None or not row.types:
        return None
    if before is None or after is None or len(before) != len(row.types):
        raise PlanError(f"a plan doesn't describe its keys, which have {len(row.types)} fields")
    return _RowChange("key", before, after)


@dataclass(frozen=True, slots=True)
class _Reshaping:
    old: NodeRows
    new: NodeRows
    keys: _RowChange | None
    key: TypeSerializerSnapshot
    new_key: TypeSerializerSnapshot

    def state(self, info: StateMetaInfo, name: str) -> ReshapedState:
        old = keyed_state(info, self.key.layout())
        changes = [] if old.kind is StateKind.TIMERS else self._changes(old)
        new_info = self._info(info, old, changes)
        new = keyed_state(new_info, self.new_key.layout())
        sources: dict[str, str | None] = {}
        initial: dict[str, Value] = {}
        for change in (*filter(None, [self.keys]), *changes):
            sources |= change.sources()
            initial |= change.initial()
        has_counts = any(change.loses_columns for change in changes if change.prefix == "map_key")
        if has_counts and isinstance(old.stored, MapOf) and _row_in(old.stored.value) is not None:
            raise PlanError("a column of the keys of its maps is gone")
        return ReshapedState(
            new_info,
            name,
            self._named(old, changes, is_new=False),
            self._named(new, changes, is_new=True),
            sources,
            initial,
            has_counts,
        )

    def _changes(self, state: State) -> list[_RowChange]:
        """The changes of rows in a state: of the keys of its map, and of its values."""
        stored = _untimed(state.stored)
        changes = []
        if isinstance(stored, MapOf):
            is_key = _row_in(stored.value) is not None
            changes.append(self._row_change("map_key", state.name, stored.key, is_key=is_key))
            stored = stored.value
        changes.append(self._row_change("value", state.name, stored))
        return [change for change in changes if change is not None]

    def _row_change(
        self, prefix: str, state: str, layout: Layout, *, is_key: bool = False
    ) -> _RowChange | None:
        row = _row_in(layout)
        if not self.old.describes(state) and not _VIEW.fullmatch(state) and _may_hold_rows(layout):
            raise PlanError("it isn't known which columns of the query its values have")
        if row is None or not self.old.describes(state):
            return None
        before = self.old.row_of(state, len(row.types), is_map_key=is_key)
        after = self.new.row_of(state, self._count(before), is_map_key=is_key)
        if before is None or after is None or not fits(before, row):
            raise PlanError(f"a plan doesn't describe its rows, which have {len(row.types)} fields")
        return _RowChange(prefix, before, after)

    def _count(self, before: Row | None) -> int:
        """The number of fields in the new row of accumulators, which counts rows if the old one does."""
        calls = self.new.calls
        columns = calls.accumulators() or ()
        origins = [column.origin for column in columns]
        was_counted = any(column.origin == ROW_COUNT for column in before or ())
        is_unsaid = calls.may_count_rows is None and ROW_COUNT not in origins
        return len(columns) + (was_counted and is_unsaid)

    def _info(self, info: StateMetaInfo, old: State, changes: list[_RowChange]) -> StateMetaInfo:
        snapshot = info.serializer(VALUE_SERIALIZER)
        assert snapshot is not None  # every state has one
        if info.type is BackendStateType.PRIORITY_QUEUE:
            nested = (self.new_key, *snapshot.nested[1:])
            return info.with_serializer(VALUE_SERIALIZER, snapshot.with_fields(nested=nested))
        by_prefix = {change.prefix: change for change in changes}
        if snapshot.class_name == _MAP and "map_key" in by_prefix:
            map_key, value = snapshot.nested
            map_key = _with_rows(map_key, by_prefix["map_key"].snapshot)
            snapshot = snapshot.with_fields(nested=(map_key, value))
        if "value" in by_prefix:
            change = by_prefix["value"].snapshot
            if snapshot.class_name == _MAP:
                map_key, value = snapshot.nested
                snapshot = snapshot.with_fields(nested=(map_key, _with_rows(value, change)))
            else:
                snapshot = _with_rows(snapshot, change)
        return info.with_serializer(VALUE_SERIALIZER, self._with_ttl(snapshot, old))

    def _with_ttl(self, snapshot: TypeSerializerSnapshot, old: State) -> TypeSerializerSnapshot:
        """The serializer with times of access if the new plan says so, or without them."""
        has_times = old.has_ttl
        planned = self.new.ttl(old.name)
        wants_times = has_times if planned is None else not planned.startswith("0 ")
        if wants_times == has_times:
            return snapshot
        return (
            with_access_times(snapshot, old.kind)
            if wants_times
            else without_access_times(snapshot, old.kind)
        )

    def _named(self, state: State, changes: list[_RowChange], *, is_new: bool) -> State:
        key, stored = state.key, state.stored
        if self.keys is not None and key is not None:
            key = self.keys.named(key, is_new=is_new)
        if self.keys is not None and state.kind is StateKind.TIMERS:
            stored = self.keys.named(stored, is_new=is_new)
        untimed = _untimed(stored)
        for change in changes:
            if isinstance(untimed, MapOf):
                part = "key" if change.prefix == "map_key" else "value"
                named = change.named(getattr(untimed, part), is_new=is_new)
                untimed = replace(untimed, **{part: named})
            else:
                untimed = change.named(untimed, is_new=is_new)
        stored = replace(stored, value=untimed) if isinstance(stored, Ttl) else untimed
        return replace(state, key=key, stored=stored)


def _may_hold_rows(layout: Layout) -> bool:
    """Whether values may have columns of the query: all but numbers, texts and windows."""
    return any(not isinstance(node, _WITHOUT_ROWS) for node in nodes_of(layout, Layout))


def _untimed(stored: Layout) -> Layout:
    """The value itself, if it has one time as a whole: a sorted map may be such a value."""
    return stored.value if isinstance(stored, Ttl) else stored


def _row_in(layout: Layout) -> BinaryRow | None:
    """The outermost row in a layout."""
    return next(nodes_of(layout, BinaryRow), None)


def _with_rows(
    snapshot: TypeSerializerSnapshot,
    change: Callable[[TypeSerializerSnapshot], TypeSerializerSnapshot],
) -> TypeSerializerSnapshot:
    """A serializer with its rows changed, however deep they are."""
    if snapshot.class_name == _ROW:
        return change(snapshot)
    return with_nested(snapshot, lambda inside: _with_rows(inside, change))
