"""Descriptions of a savepoint: the answers of ``describe``, ``tables``, ``schema``, ``files``.

Each answer is a frozen record of plain values, ready to be shown as a table or as JSON. Types have
Spark's names, as in the DataFrame of a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from savepoint_formats.locations import METADATA_FILE
from savepoint_formats.metadata import (
    COORDINATOR,
    FlinkVersionRange,
    KeyedHandleType,
    in_flight_size,
    size_of,
    stream_references,
    streams_of,
)
from savepoint_formats.printable import html_records, without_secrets
from savepoint_formats.tables import column_remarks, column_type, state_remarks
from savepoint_formats.values import arrow_type, spark_type_name, visible_key_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.layout import Layout
    from savepoint_formats.locations import SnapshotDirectory, StateFile
    from savepoint_formats.metadata import CheckpointMetadata, StreamReference
    from savepoint_formats.state_files import State, StateKind
    from savepoint_formats.tables import Table

_KEYED_FORMATS = {
    KeyedHandleType.KEY_GROUPS_V1: "key groups",
    KeyedHandleType.KEY_GROUPS: "key groups",
    KeyedHandleType.CANONICAL_SAVEPOINT: "canonical",
    KeyedHandleType.INCREMENTAL_V1: "rocksdb",
    KeyedHandleType.INCREMENTAL: "rocksdb",
    KeyedHandleType.CHANGELOG_V1: "changelog",
    KeyedHandleType.CHANGELOG: "changelog",
}


@dataclass(frozen=True, slots=True, repr=False)
class StateDescription:
    """A state: its kind, and the types of its key, namespace and values.

    ``notes`` name the values that can only be shown as bytes, with the reason, and the numbers that
    are times.
    """

    operator: str
    state: str
    kind: str
    key: str | None
    namespace: str | None
    value: str
    has_ttl: bool
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"StateDescription({f'{self.operator}.{self.state}'!r}, {self.kind})"

    @classmethod
    def of(cls, operator: str, state: State) -> StateDescription:
        return cls(
            operator,
            state.job_name,
            _kind_name(state),
            None if state.key is None else _key_type_name(state.key, state.kind),
            None if state.namespace is None else type_name(state.namespace),
            type_name(state.value),
            state.has_ttl,
            tuple(dict.fromkeys(state_remarks(state))),
        )


@dataclass(frozen=True, slots=True, repr=False)
class OperatorDescription:
    """An operator: its names, parallelism and states. Sizes are in bytes."""

    uid: str | None
    hash: str
    name: str | None
    parallelism: int
    max_parallelism: int
    is_finished: bool
    keyed_size: int
    operator_size: int
    states: tuple[StateDescription, ...]
    problems: tuple[str, ...]

    def __repr__(self) -> str:
        return f"OperatorDescription({self.uid or self.hash!r}, {len(self.states)} states)"

    @classmethod
    def of(cls, operator: Operator) -> OperatorDescription:
        record, catalog = operator.record, operator.catalog
        return cls(
            operator.uid,
            operator.id,
            record.name or None,
            record.parallelism,
            record.max_parallelism,
            record.is_finished,
            catalog.keyed_size,
            catalog.operator_size,
            tuple(StateDescription.of(operator.name, state) for state in catalog.states),
            tuple(map(str, catalog.problems)),
        )


@dataclass(frozen=True, slots=True, repr=False)
class SavepointDescription:
    """A savepoint on one page.

    Sizes are in bytes. ``size`` has ``_metadata`` and each file once. ``in_flight_size`` is that of the
    records in flight; None if the snapshot is aligned.
    """

    path: str
    kind: str
    keyed_formats: tuple[str, ...]
    metadata_version: int
    flink: str
    checkpoint_id: int
    size: int
    in_flight_size: int | None
    operators: tuple[OperatorDescription, ...]

    def __repr__(self) -> str:
        count = len(self.operators)
        return f"SavepointDescription({without_secrets(self.path)!r}, {self.kind}, Flink {self.flink}, {count} operators)"

    def _repr_html_(self) -> str:
        names = ("operator", "state", "kind", "key", "namespace", "value")
        return html_records(repr(self), self.states(), names)

    def states(self) -> tuple[StateDescription, ...]:
        """States of all operators."""
        return tuple(state for operator in self.operators for state in operator.states)

    @classmethod
    def of(
        cls,
        path: str,
        metadata: CheckpointMetadata,
        operators: Iterable[Operator],
        metadata_size: int,
    ) -> SavepointDescription:
        """The description; ``metadata_size`` is that of ``_metadata``, in bytes."""
        described = tuple(OperatorDescription.of(operator) for operator in operators)
        return cls(
            path,
            kind_of(metadata),
            _keyed_formats(metadata),
            metadata.version,
            str(FlinkVersionRange.of(metadata)),
            metadata.checkpoint_id,
            metadata_size + size_of(streams_of(metadata), with_inline=False),
            in_flight_size(metadata),
            described,
        )


def kind_of(metadata: CheckpointMetadata) -> str:
    """Kind of the snapshot, which Flink stores since 1.16."""
    if metadata.properties is None or not metadata.properties.kind:
        return "savepoint or checkpoint"
    kind = metadata.properties.kind.lower()
    aligned = "" if in_flight_size(metadata) is None else "unaligned"
    return " ".join(filter(None, (aligned, metadata.properties.format_type.lower(), kind)))


def _keyed_formats(metadata: CheckpointMetadata) -> tuple[str, ...]:
    handles = (
        subtask.managed_keyed_state
        for operator in metadata.operators
        for subtask in operator.subtasks
    )
    return tuple(sorted({_KEYED_FORMATS[handle.type] for handle in handles if handle is not None}))


@dataclass(frozen=True, slots=True, repr=False)
class TableDescription:
    """A table with its full name, its name in SQL, and its columns.

    ``problems`` name missing or damaged files; such a table can't be read. A table has no columns
    here if none of its files can be read.
    """

    table: str
    sql: str
    columns: tuple[str, ...]
    states: tuple[str, ...]
    kinds: tuple[str, ...]
    problems: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"TableDescription({self.table!r}, {len(self.columns)} columns)"

    @classmethod
    def of_operator(cls, operator: Operator, names: Mapping[str, str]) -> Iterator[Self]:
        """Tables of an operator; ``names`` are full name -> name in SQL."""
        problems = {name: tuple(map(str, in_table)) for name, in_table in operator.problems.items()}
        for table in operator.readable_tables:
            full = f"{operator.name}.{table.name}"
            yield cls(
                full,
                names[full],
                tuple(column.name for column in table.columns),
                tuple(state.name for state in table.states),
                tuple(sorted({_kind_name(state) for state in table.states})),
                problems.get(table.name, ()),
            )
        for name in operator.unread_tables:
            full = f"{operator.name}.{name}"
            yield cls(full, names[full], (), (), (), problems[name])


@dataclass(frozen=True, slots=True, repr=False)
class ColumnDescription:
    """A column of a table; ``notes`` name values shown as bytes, with the reason, and numbers that are times."""

    table: str
    column: str
    type: str
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"ColumnDescription({f'{self.table}.{self.column}'!r}, {self.type})"

    @classmethod
    def of_table(cls, operator: Operator, table: Table) -> Iterator[ColumnDescription]:
        for column in table.columns:
            yield cls(
                f"{operator.name}.{table.name}",
                column.name,
                spark_type_name(column_type(table, column)),
                tuple(dict.fromkeys(column_remarks(table, column))),
            )


@dataclass(frozen=True, slots=True, repr=False)
class FileDescription:
    """A file and the state that refers to it.

    Attributes:
        path: Path in the handle; relative to the savepoint's directory, or absolute.
        location: Place of the file, if it differs from ``path``.
        size: In bytes; None if the file is missing.
        is_missing: Whether the file is neither where the handle says nor next to ``_metadata``.
        references: ``operator subtask: use``; empty if no handle refers to the file.
        problem: Why a missing file was not searched for where the handle says.
    """

    path: str
    location: str | None
    size: int | None
    is_missing: bool
    references: tuple[str, ...]
    problem: str = ""

    def __repr__(self) -> str:
        what = "missing" if self.is_missing else f"{self.size} bytes"
        return f"FileDescription({without_secrets(self.path)!r}, {what})"


def describe_files(
    directory: SnapshotDirectory, operators: Iterable[Operator]
) -> Iterator[FileDescription]:
    """``_metadata``, every file that an operator refers to, then all other files."""
    referenced: dict[str, tuple[StateFile, list[str]]] = {}
    for operator in operators:
        for reference in stream_references(operator.record):
            file = directory.file(reference.stream)
            if file.data is None:
                _, users = referenced.setdefault(file.named or file.path, (file, []))
                users.append(_user(operator, reference))
    sizes = directory.list_files()
    yield FileDescription(METADATA_FILE, None, sizes.pop(METADATA_FILE), False, ("savepoint",))
    for path, (file, users) in referenced.items():
        if file.location is None:
            yield FileDescription(path, None, None, True, tuple(users), file.problem)
            continue
        where = directory.relative(file.location)
        listed = sizes.pop(where, None)
        size = file.location.file_size() if listed is None else listed
        location = None if path.endswith(where) else where
        yield FileDescription(path, location, size, False, tuple(users))
    for path, size in sorted(sizes.items()):
        yield FileDescription(path, None, size, False, ())


def _user(operator: Operator, reference: StreamReference) -> str:
    if reference.subtask == COORDINATOR:
        return f"{operator.name}: {reference.role}"
    return f"{operator.name} {reference.subtask}: {reference.role}"


def _kind_name(state: State) -> str:
    """Kind of a state as the job sees it; says if each subtask has its own instance."""
    scope = f"{state.scope.value} " if state.scope.is_local else ""
    return f"{scope}{state.job_kind.value}"


def type_name(layout: Layout) -> str:
    """Spark's name of the type of a column with this layout."""
    return spark_type_name(arrow_type(layout))


def _key_type_name(key: Layout, kind: StateKind) -> str:
    data_type = arrow_type(key)
    return spark_type_name(visible_key_type(data_type) if kind.is_keyed else data_type)
