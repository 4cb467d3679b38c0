"""A writer whose operators are those of Flink 2.x; see ``SavepointWriter.migrate``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from savepoint_database import types
from savepoint_extensions.upgrade import migration_plan
from savepoint_extensions.upgrade.flink_releases import RELEASES
from savepoint_extensions.upgrade.from_scala import ScalaTarget
from savepoint_extensions.upgrade.undescribed_classes import undescribed_classes
from savepoint_formats.errors import MigrationError
from savepoint_formats.metadata import is_of_flink_2
from savepoint_spark.writing import expect_key_types

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from state_processor import PlannedOperator, SavepointWriter


def classes_to_describe(
    writer: SavepointWriter, on_progress: Callable[[int], None] | None
) -> tuple[types.ClassToDescribe, ...]:
    """See ``SavepointWriter.classes_to_describe``."""
    changes = (planned.change for planned in writer.operators)
    sources = [change.operator for change in changes if change is not None]
    places: dict[str, dict[str, int]] = {}
    superclasses: dict[str, str] = {}
    collections: dict[str, dict[str, None]] = {}
    is_of_flink_1 = not is_of_flink_2(writer.metadata_version)
    for operator in sources:
        around = migration_plan.collections_to_describe(operator) if is_of_flink_1 else {}
        for name, fields in around.items():
            collections.setdefault(name, {}).update(fields)
        described = undescribed_classes(operator, on_progress)
        for (subclass, state), count in described.items():
            name, place = subclass.class_name, f"{operator.name}/{state}"
            places.setdefault(name, {})[place] = places.get(name, {}).get(place, 0) + count
            superclasses[name] = superclasses.get(name) or subclass.superclass
    return tuple(
        types.ClassToDescribe(
            name,
            places.get(name, {}),
            superclasses.get(name, ""),
            tuple(collections.get(name, ())),
        )
        for name in sorted({*places, *collections})
    )


def migrated(
    writer: SavepointWriter,
    target: str,
    rename_classes: Mapping[str, str],
    scala: ScalaTarget | None,
) -> SavepointWriter:
    """See ``SavepointWriter.migrate``."""
    if target not in RELEASES:
        releases = ", ".join(RELEASES)
        raise ValueError(f"no release {target!r} to migrate to, only {releases}")
    if scala is not None and scala not in get_args(ScalaTarget):
        targets = ", ".join(get_args(ScalaTarget))
        raise ValueError(f"no API {scala!r} for state of Scala, only {targets}")
    if is_of_flink_2(writer.metadata_version):
        raise ValueError("Flink 2.x has written this savepoint: there is nothing to migrate")
    from savepoint_spark.changing import StageRule  # noqa: PLC0415  # Spark is slow

    writer = writer.ready_for(StageRule.ENTRIES)
    expect_key_types(
        planned.source
        for planned in writer.operators
        if planned.source is not None
        and not planned.is_made_anew
        and planned.source.has_keyed_state
    )
    operators, problems = [], []
    for planned in writer.operators:
        try:
            operators.append(_migrated(planned, scala))
        except MigrationError as error:
            where = ", ".join(error.places)
            problems += [f"{where}: {problem}" if where else problem for problem in error.problems]
    if problems:
        raise MigrationError(*problems)
    writer = replace(writer, operators=tuple(operators), is_of_flink_2=True)
    for old, new in rename_classes.items():
        writer = writer.rename_class(old, new)
    return writer


def _migrated(planned: PlannedOperator, scala: ScalaTarget | None) -> PlannedOperator:
    change = None if planned.source is None else planned.change
    if change is None:
        return planned
    made = migration_plan.with_migration(change, scala)
    return planned if made is change else planned.changed(lambda _: made)
