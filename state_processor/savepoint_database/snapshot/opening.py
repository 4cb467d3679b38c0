"""The options of ``Snapshot.open``, and what they say of a file ``_metadata``.

A snapshot asks little of the plan of a SQL job; an extension reads plans.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypedDict, cast

from savepoint_database import types as described_types
from savepoint_formats.bytes import DataInputView
from savepoint_formats.lazy_names import named
from savepoint_formats.metadata import CheckpointMetadata, is_of_flink_2
from savepoint_formats.values import KryoDialect, KryoVersion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from savepoint_database.snapshot.key_types import GivenType, StateTypes
    from savepoint_database.types.class_library import DescribedClasses
    from savepoint_formats.key_groups import OperatorId
    from savepoint_formats.locations import PathText, SnapshotDirectory
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files import StateNames


GIVEN_PLAN = "savepoint_extensions.sql_jobs.planned_operators:given_plan"
QUERY_NODES = "savepoint_extensions.sql_jobs.planned_operators:query_nodes"
"""Functions that read the plan in a file, and describe the operators of its query."""


class QueryPlan(Protocol):
    """A compiled plan."""

    @property
    def path(self) -> str:
        """The file that it was read from."""


@dataclass(frozen=True, slots=True)
class QueryNode:
    """An operator of a query.

    Attributes:
        depth: Number of operators between this one and the sink.
        id: Its number in the plan.
        description: The operator as the query's explanation shows it.
        operators: Uids of its operators in the savepoint.
        rows: Number of keys in its keyed tables, and of elements in its operator states.
        size: Bytes of its state.
        states: Names of its states.
    """

    depth: int
    id: int
    description: str
    operators: tuple[str, ...]
    rows: int
    size: int
    states: tuple[str, ...]


class OpeningOptions(TypedDict):
    """Keyword arguments of ``Snapshot.open``; it explains them."""

    uids: Iterable[str]
    kryo_classes: DescribedClasses
    allow_paths: Iterable[PathText]
    strict_paths: bool
    key_types: Mapping[str, GivenType] | None
    plan: PathText | None
    types: StateTypes | None


def opening_of(
    *,
    uids: Iterable[str] = (),
    kryo_classes: DescribedClasses = (),
    allow_paths: Iterable[PathText] = (),
    strict_paths: bool = False,
    key_types: Mapping[str, GivenType] | None = None,
    plan: PathText | None = None,
    types: StateTypes | None = None,
) -> OpeningOptions:
    """Options that can be used several times: an iterator becomes a tuple."""
    options = OpeningOptions(
        uids=uids,
        kryo_classes=kryo_classes,
        allow_paths=allow_paths,
        strict_paths=strict_paths,
        key_types=key_types,
        plan=plan,
        types=types,
    )
    again = {name: tuple(it) if isinstance(it, Iterator) else it for name, it in options.items()}
    return cast("OpeningOptions", again)


def read_metadata(
    directory: SnapshotDirectory, data: bytes, names: Mapping[str, str]
) -> CheckpointMetadata:
    """The parsed ``_metadata``; operators without a name get theirs from ``names``."""
    metadata = CheckpointMetadata.read(DataInputView(data, directory.metadata_path))
    if not names:
        return metadata
    operators = (
        replace(record, name=record.name or names.get(str(record.operator_id), record.name))
        for record in metadata.operators
    )
    return replace(metadata, operators=tuple(operators))


def kryo_of(metadata: CheckpointMetadata, classes: DescribedClasses) -> KryoDialect:
    """Kryo of the Flink that wrote the savepoint: 2.x has another version than 1.x."""
    if isinstance(classes, str | os.PathLike):
        classes = described_types.class_descriptions(classes)
    is_kryo_5 = is_of_flink_2(metadata.version)
    return KryoDialect(KryoVersion.V5_6 if is_kryo_5 else KryoVersion.V2_24, tuple(classes))


def given_plan(
    plan: PathText | None, metadata: CheckpointMetadata, path: str
) -> tuple[QueryPlan | None, dict[OperatorId, tuple[str, StateNames]]]:
    """The plan, and the operators that are in it, with their uids and the names of their fields."""
    if plan is None:
        return None, {}
    read: tuple[QueryPlan, dict[OperatorId, tuple[str, StateNames]]]
    read = named(GIVEN_PLAN)(plan, metadata, path)
    return read


def given_types(
    keys: Mapping[str, GivenType] | None,
    types: StateTypes | None,
    metadata: CheckpointMetadata,
    path: str,
) -> tuple[dict[OperatorId, TypeSerializerSnapshot], dict[OperatorId, tuple[tuple[str, str], ...]]]:
    """Serializers of keys, and texts of types of Python, by the operator."""
    if not (keys or types):
        return {}, {}
    from savepoint_database.snapshot.key_types import key_serializers, python_types  # noqa: PLC0415  # few give types

    return (
        key_serializers(keys or {}, metadata.operators, path),
        python_types(types or {}, metadata.operators, path),
    )
