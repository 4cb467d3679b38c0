"""Writers of savepoints without what is private: masked, of some keys, without erased ones."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from savepoint_extensions.privacy.chosen_keys import limits_of, listed_keys, lowest_hashes
from savepoint_extensions.privacy.file_search import keyed_files
from savepoint_extensions.privacy.mask_plan import MaskPlan, expect_all_named, idle_rules
from savepoint_extensions.privacy.mask_rules import MaskRules
from savepoint_formats.errors import KeyTypeError, SchemaChangeError
from savepoint_formats.pass_through import SampledKeys
from savepoint_formats.state_files import UNREADABLE
from savepoint_spark.changing import needs_conversion

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from savepoint_extensions.privacy.found_values import FoundValues
    from savepoint_formats.pass_through import KeyChoice
    from savepoint_spark.changing import Change, ChangedOperator, StoredKeyedRows, StoredSplit
    from state_processor import PlannedOperator, SavepointWriter


def masked(
    writer: SavepointWriter, rules: MaskRules | str | os.PathLike[str], *, strict: bool
) -> SavepointWriter:
    """See ``SavepointWriter.masked``."""
    from savepoint_extensions.privacy.masked_state import MASKING, MaskedState  # noqa: PLC0415  # Spark is slow

    parsed = rules if isinstance(rules, MaskRules) else MaskRules.of_file(rules)
    writer = writer.ready_for(MASKING)
    plans = {
        planned.operator_id: MaskPlan.of(change.operator, parsed).without(change.removed)
        for planned, change in _changes(writer)
    }
    if strict:
        expect_all_named(plans.values())
    for planned, change in _changes(writer):
        plan = replace(plans[planned.operator_id], is_strict=strict)
        masks = plan.masked()
        if masks is None:
            writer = replace(writer, unmasked=(*writer.unmasked, *plan.told({})))
            continue
        if masks.moves_keys and change.is_local:
            raise SchemaChangeError(
                f"operator {planned.name} has local keyed state, whose keys can't be masked: write it"
                " with merge_local first, and mask the new savepoint"
            )
        masked_state = MaskedState(plan, masks)
        writer = writer.changed(planned.name, partial(_with, masked_state))
    return replace(writer, unmasked=(*writer.unmasked, *idle_rules(parsed, plans.values())))


def sampled(
    writer: SavepointWriter,
    fraction: float | None,
    keys: Sequence[Any] | None,
    per_key_group: int | None,
) -> SavepointWriter:
    """See ``SavepointWriter.sample``."""
    given = [argument for argument in (fraction, keys, per_key_group) if argument is not None]
    if len(given) != 1:
        raise ValueError("sample takes one of fraction, keys and per_key_group")
    if fraction is not None and not 0 < fraction <= 1:
        raise ValueError(f"a fraction of {fraction}, expected more than 0 and at most 1")
    if per_key_group is not None and per_key_group < 1:
        raise ValueError(f"{per_key_group} keys per key group, expected at least 1")
    from savepoint_spark.changing import ChosenKeys, StageRule  # noqa: PLC0415  # Spark is slow

    writer = writer.ready_for(StageRule.CHOICE)
    errors, is_chosen = list[KeyTypeError](), False
    lowest = {} if per_key_group is None else _lowest_by_max_parallelism(writer, per_key_group)
    for planned, change in _changes(writer):
        if not change.operator.has_keyed_state:
            continue
        try:
            limits = lowest.get(change.operator.record.max_parallelism, {})
            choice = _choice(change, fraction, keys, limits)
            is_chosen = True
        except KeyTypeError as error:
            errors.append(error)
            choice = SampledKeys(0)
        writer = writer.changed(planned.name, partial(_with, ChosenKeys(choice)))
    if errors and not is_chosen:
        raise errors[0]
    return writer


def erased(writer: SavepointWriter, answer: FoundValues, *, rewrite: bool) -> SavepointWriter:
    """See ``SavepointWriter.erase``."""
    from savepoint_spark.changing import ChosenKeys, StageRule  # noqa: PLC0415  # Spark is slow

    writer = writer.ready_for(StageRule.CHOICE)
    keys = answer.keys("" if writer.source is None else writer.source.path)
    files = {place.file for place in answer.places if place.file}
    for planned, change in _changes(writer):
        mine = keys.get(planned.name) or keys.get(str(planned.operator_id))
        if mine:
            choice = listed_keys(change.operator, mine, is_excluded=True)
            writer = writer.changed(planned.name, partial(_with, ChosenKeys(choice)))
        elif needs_conversion(change.operator) and (
            rewrite or not files.isdisjoint(keyed_files(change.operator))
        ):
            writer = writer.changed(planned.name, partial(replace, is_canonical=True))
    return writer


def _changes(writer: SavepointWriter) -> Iterator[tuple[PlannedOperator, ChangedOperator]]:
    """The operators of the source, with their changes so far."""
    for planned in writer.operators:
        change = planned.change
        if change is not None:
            yield planned, change


def _with(change: Change, operator: ChangedOperator) -> ChangedOperator:
    return operator.with_change(change)


def _choice(
    change: ChangedOperator,
    fraction: float | None,
    keys: Sequence[Any] | None,
    limits: dict[int, int],
) -> KeyChoice:
    if fraction is not None:
        return SampledKeys.of_fraction(fraction)
    if keys is not None:
        return listed_keys(change.operator, keys, is_excluded=False)
    return SampledKeys(0, limits)


def _lowest_by_max_parallelism(writer: SavepointWriter, count: int) -> dict[int, dict[int, int]]:
    """Max parallelism -> key group -> the limit of the hashes of the keys that are taken.

    Operators share the limits, so that they keep the same keys.
    """
    lowest: dict[int, list[dict[int, list[int]]]] = {}
    for _, change in _changes(writer):
        if change.operator.has_keyed_state:
            if made := change.made(is_keyed=True):
                raise SchemaChangeError(UNREADABLE).within(
                    f"state {min(made)!r}", f"operator {change.operator.name}"
                )
            rows = change.stored_rows(None)
            work: Callable[[StoredSplit], dict[int, list[int]]] = partial(_lowest, rows, count)
            of_operator = lowest.setdefault(change.operator.record.max_parallelism, [])
            if writer.spark is None:
                of_operator += map(work, rows.splits())
            else:
                from savepoint_spark.session import done_by_tasks  # noqa: PLC0415  # Spark is slow

                of_operator += done_by_tasks(writer.spark, work, rows.splits())
    return {most: limits_of(of_splits, count) for most, of_splits in lowest.items()}


def _lowest(rows: StoredKeyedRows, count: int, split: StoredSplit) -> dict[int, list[int]]:
    return lowest_hashes(rows.state_chunks(split), rows.operator.kryo, count)
