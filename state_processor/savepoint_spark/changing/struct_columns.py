"""Values after a change of fields: columns of Spark, or arrays of Arrow.

``check_values`` tries such a change in this process, without Spark. That works for fields that are
renamed, dropped or widened, or new and null, but not for expressions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from savepoint_database.types import arranged, bounds
from savepoint_formats.errors import SchemaChangeError, within
from savepoint_formats.layout import Layout, Pojo, as_records, nodes_of
from savepoint_formats.scan import Glance, seen_subclasses
from savepoint_formats.snapshots import ELEMENT, MAP_KEY, MAP_VALUE
from savepoint_formats.tables import KEY, stored_key
from savepoint_formats.values import UNDECODED, arrow_type
from savepoint_spark.changing.stored_operator_state import rewritten_state
from savepoint_spark.columns import as_type
from savepoint_spark.writing.keyed_rows import NewState
from savepoint_spark.writing.operator_plan import encoded_elements
from savepoint_spark.writing.run_encoding import RunEncoding, StateColumn
from savepoint_spark.writing.stored_types import StoredTypes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyspark.sql import Column
    from pyspark.sql.types import DataType

    from savepoint_database.snapshot import Operator
    from savepoint_formats.snapshots import StructEdit
    from savepoint_formats.state_files import State
    from savepoint_spark.changing.changed_table import ChangedTable

VALUE = "value"

UNCHANGEABLE = (
    "a value is of a subclass of a POJO that no snapshot describes, which has the fields of the POJO,"
    " too: its bytes would keep the old ones. Replace such values by update_state first, and change the"
    " fields in the new savepoint"
)

# Spark puts its own words in front. On a line of its own, typed_errors finds the message.
_RAISED = f"\n{SchemaChangeError.__module__}.{SchemaChangeError.__qualname__}: {UNCHANGEABLE}\n"


def edited_column(
    column: Column, shown: DataType, wanted: DataType, edit: StructEdit, new: Mapping[str, Column]
) -> Column:
    """The values after a change of fields; the job fails for a value that was not decoded.

    ``shown`` and ``wanted`` are the types before and after; ``new`` has the values of new fields,
    null by default.
    """
    origins = dict(edit.origins)

    def struct(inner: Column, source: DataType, target: DataType) -> Column:
        # Where an edit leads to.
        assert isinstance(source, StructType)
        assert isinstance(target, StructType)
        fields = []
        for field in target:
            # The kind of a row of SQL is not a field.
            origin = origins.get(field.name, field.name)
            if origin is None:
                value = new.get(field.name, F.lit(None)).cast(field.dataType)
            else:
                value = as_type(inner.getField(origin), source[origin].dataType, field.dataType)
            fields.append(value.alias(field.name))
        return F.when(inner.isNotNull(), F.struct(*fields))

    return _at(column, shown, wanted, edit.steps, struct)


def _at(
    column: Column,
    shown: DataType,
    wanted: DataType,
    steps: tuple[str, ...],
    change: Callable[[Column, DataType, DataType], Column],
) -> Column:
    if isinstance(shown, StructType) and UNDECODED in shown.names:
        is_lost = column.getField(UNDECODED).isNotNull()
        decoded = StructType([field for field in shown if field.name != UNDECODED])
        refused = F.raise_error(F.lit(_RAISED)).cast(wanted)
        return F.when(is_lost, refused).otherwise(_at(column, decoded, wanted, steps, change))
    steps = _steps_in(wanted, steps)
    match steps, wanted:
        case (), _:
            return change(column, shown, wanted)
        case (step, *rest), ArrayType() if step == ELEMENT:
            have, element = type_at(shown, (step,)), wanted.elementType
            return F.transform(column, lambda item: _at(item, have, element, tuple(rest), change))
        case (step, *rest), MapType() if step == MAP_VALUE:
            have, value = type_at(shown, (step,)), wanted.valueType
            return F.transform_values(
                column, lambda _key, item: _at(item, have, value, tuple(rest), change)
            )
        case (step, *rest), MapType() if step == MAP_KEY:
            have, key = type_at(shown, (step,)), wanted.keyType
            return F.transform_keys(
                column, lambda item, _value: _at(item, have, key, tuple(rest), change)
            )
        case (step, *rest), StructType():
            have = type_at(shown, (step,))
            fields = [
                _at(column.getField(field.name), have, field.dataType, tuple(rest), change)
                if field.name == step
                else column.getField(field.name)
                for field in wanted
            ]
            named = (field.alias(name) for field, name in zip(fields, wanted.names, strict=True))
            return F.when(column.isNotNull(), F.struct(*named))
    raise TypeError(f"{wanted.simpleString()} has no {steps[0]!r}")


def _steps_in(whole: DataType, steps: tuple[str, ...]) -> tuple[str, ...]:
    """The steps; into the values of a map whose keys can be null, which is a list of entries."""
    if steps[:1] == (MAP_VALUE,) and isinstance(whole, ArrayType):
        return (ELEMENT, VALUE, *steps[1:])
    return steps


def type_at(whole: DataType, steps: tuple[str, ...]) -> DataType:
    """The type that the steps lead to."""
    while steps := _steps_in(whole, steps):
        step, *rest = steps
        match whole:
            case ArrayType():
                whole = whole.elementType
            case MapType():
                whole = whole.keyType if step == MAP_KEY else whole.valueType
            case StructType():
                whole = whole[step].dataType
        steps = tuple(rest)
    return whole


def check_values(tables: Iterable[ChangedTable], max_parallelism: int) -> None:
    """Reads and encodes the changed states of tables, raises the errors of a write, and writes nothing."""
    for table in tables:
        if table.states:
            _check(table, max_parallelism)


def _check(table: ChangedTable, max_parallelism: int) -> None:
    encode = _keyed(table, max_parallelism) if table.is_keyed else _elements(table)
    for batch in table.rows.exact_batches():
        changed = {name: batch.column(name) for name in batch.schema.names}
        for state in table.states:
            name = table.stored_column(state)
            with within(f"state {state.name!r}"):
                changed[name] = _changed(table, state, changed[name])
        encode(pa.RecordBatch.from_pydict(changed))


def _changed(table: ChangedTable, state: State, values: pa.Array) -> pa.Array:
    for change in table.changes:
        if change.state == state.name and change.edit is not None:
            wanted = arrow_type(as_records(change.edit.snapshot.layout()))
            values = edited_values(values, wanted, change.edit)
    return values


def _keyed(table: ChangedTable, max_parallelism: int) -> Callable[[pa.RecordBatch], object]:
    types = StoredTypes.of(table.operator)
    states = [
        NewState(table.info(state, types), table.stored_column(state)) for state in table.states
    ]
    namespace = states[0].namespace
    columns = (
        StateColumn(
            state.name, number, state.kind, state.stored, state.has_namespace, str(state.column)
        )
        for number, state in enumerate(states)
    )
    encoding = RunEncoding(
        table.operator.written(types.key).layout(),
        None if namespace is None else namespace.layout(),
        max_parallelism,
        tuple(columns),
        table.hash_code,
        has_key_groups=not table.moves_keys,
        is_keyed_once=False,
    )
    encoders = encoding.encoders()
    stored = arrow_type(encoding.key)

    def encode(batch: pa.RecordBatch) -> object:
        keys = stored_key(batch.column(KEY), stored)
        whole = batch.set_column(batch.schema.get_field_index(KEY), KEY, keys)
        return list(encoding.encoded(whole, encoders))

    return encode


def _elements(table: ChangedTable) -> Callable[[pa.RecordBatch], object]:
    (state,) = table.states
    name, layout = table.stored_column(state), table.snapshot(state).layout()
    key = rewritten_state(table.operator, state.name).key

    def encode(batch: pa.RecordBatch) -> Iterator[pa.Array]:
        with within(f"state {state.name!r}"):
            yield encoded_elements(batch, name, layout)
            if key is not None:
                yield encoded_elements(batch, "key", key.layout())

    return lambda batch: list(encode(batch))


def edited_values(values: pa.Array, wanted: pa.DataType, edit: StructEdit) -> pa.Array:
    """The values after a change of fields; new ones are null. See ``edited_column``."""
    return _edited(values, wanted, edit.steps, dict(edit.origins))


def _edited(
    values: pa.Array, wanted: pa.DataType, steps: tuple[str, ...], origins: Mapping[str, str | None]
) -> pa.Array:
    if UNDECODED in _names(values.type) and values.field(UNDECODED).null_count < len(values):
        raise SchemaChangeError(UNCHANGEABLE)
    if steps[:1] == (MAP_VALUE,) and pa.types.is_list(wanted):
        steps = (ELEMENT, VALUE, *steps[1:])  # as _steps_in
    step, rest = (steps[0], steps[1:]) if steps else (None, ())
    if step == ELEMENT and pa.types.is_list(wanted):
        elements = _edited(values.values, wanted.value_type, rest, origins)
        return pa.ListArray.from_arrays(bounds(values), elements, type=wanted)
    if step == MAP_VALUE and pa.types.is_map(wanted):
        items = _edited(values.items, wanted.item_type, rest, origins)
        return pa.MapArray.from_arrays(bounds(values), values.keys, items, type=wanted)
    if step == MAP_KEY and pa.types.is_map(wanted):
        keys = _edited(values.keys, wanted.key_type, rest, origins)
        return pa.MapArray.from_arrays(bounds(values), keys, values.items, type=wanted)
    fields = []
    for field in wanted:
        if step is not None:
            inner = values.field(field.name)
            fields.append(
                _edited(inner, field.type, rest, origins) if field.name == step else inner
            )
        elif (origin := origins.get(field.name, field.name)) is None:
            fields.append(pa.nulls(len(values), field.type))
        else:
            fields.append(arranged(values.field(origin), field.type))
    return pa.StructArray.from_arrays(fields, fields=list(wanted), mask=values.is_null())


def _names(data_type: pa.DataType) -> list[str]:
    return [field.name for field in data_type] if pa.types.is_struct(data_type) else []


def expect_none_unknown(operator: Operator, tables: Iterable[ChangedTable]) -> None:
    """Raises ``SchemaChangeError`` for a passing value of an undescribed subclass with renamed fields."""
    for table in tables:
        for state in table.table.states:
            if state.name in table.snapshots and state not in table.states:
                renamed = _changed_pojos(state.stored, table.snapshots[state.name].layout())
                with within(f"state {state.name!r}", f"operator {operator.name}"):
                    _expect_none(operator, state, renamed)


def _expect_none(operator: Operator, state: State, pojos: frozenset[str]) -> None:
    kryo = operator.kryo
    assert kryo is not None  # operators of a savepoint have one
    known = operator.directory, operator.record, [state], kryo
    for seen in seen_subclasses(*known, Glance(None)).values():
        if seen.unseen:
            raise SchemaChangeError(f"values can't be searched for subclasses: {seen.unseen}")
        if any(subclass.superclass in pojos for subclass in seen.values):
            raise SchemaChangeError(UNCHANGEABLE)


def _changed_pojos(before: Layout, after: Layout) -> frozenset[str]:
    names = {pojo.class_name: pojo.names for pojo in nodes_of(after, Pojo)}
    return frozenset(
        pojo.class_name
        for pojo in nodes_of(before, Pojo)
        if names.get(pojo.class_name) != pojo.names
    )
