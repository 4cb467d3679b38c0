"""Changes that keep people out of a savepoint: masked values, samples of keys, erased keys."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from savepoint_database.privacy.chosen_keys import limits_of, listed_keys, lowest_hashes
from savepoint_database.privacy.file_search import keyed_files
from savepoint_database.privacy.mask_plan import MaskPlan, expect_all_named
from savepoint_database.privacy.mask_rules import MaskRules
from savepoint_formats.errors import KeyTypeError, SchemaChangeError
from savepoint_formats.pass_through.divided_entries import SampledKeys
from savepoint_spark.changing import needs_conversion
from state_processor.savepoint.state_changes import StateChanges

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from savepoint_database.privacy.found_values import FoundValues
    from savepoint_formats.pass_through.divided_entries import KeyChoice
    from savepoint_spark.changing.changed_operator import ChangedOperator
    from savepoint_spark.changing.stored_rows import StoredKeyedRows, StoredSplit
    from state_processor.savepoint.planned_operator import PlannedOperator
    from state_processor.savepoint.writer import SavepointWriter


class PrivacyChanges(StateChanges):
    """Changes for test data and for people who want to be forgotten; see ``StateChanges``."""

    __slots__ = ()

    def masked(
        self, rules: MaskRules | str | os.PathLike[str], *, strict: bool = False
    ) -> SavepointWriter:
        """Masks values, keys and operator state by rules.

        Equal values get equal masks in all operators and states. Masked keys get the key groups of
        their new values; their states, windows and timers go with them. ``write`` reads masked state
        twice: once to count, and to compare keys, and once to write. It raises ``MaskError`` if keys
        would become equal, and ``UnstableHashError`` if the hash codes of masked keys are unknown.

        Args:
            rules: The rules, or their file of YAML.
            strict: Refuses fields that no rule names, and bytes that can't be decoded.

        Raises:
            DescriptionError: The file has no valid rules.
            MaskError: A method can't mask a field, a secret is missing, or no rule names a field.

        Example:
            >>> savepoint.masked("rules.yaml").write("s3://staging/savepoint").masked
        """
        parsed = rules if isinstance(rules, MaskRules) else MaskRules.of_file(rules)
        writer = self.writer()
        plans = {
            planned.operator_id: MaskPlan.of(change.operator, parsed).without(change.removed)
            for planned, change in _changes(writer)
        }
        if strict:
            expect_all_named(plans.values())
        for planned, _ in _changes(writer):
            plan = replace(plans[planned.operator_id], is_strict=strict)
            if plan.masked() is None:
                writer = replace(writer, unmasked=(*writer.unmasked, *plan.told({})))
            else:
                writer = writer.changed(planned.name, partial(_with_masks, plan))
        return writer

    def sample(
        self,
        fraction: float | None = None,
        *,
        keys: Sequence[Any] | None = None,
        per_key_group: int | None = None,
    ) -> SavepointWriter:
        """Takes some keys of all operators, with all their states, windows and timers.

        Exactly one argument is given. Operators with equal keys keep the same ones. Operator state
        stays whole.

        Args:
            fraction: The fraction of the keys, by their hash: 0.01 takes about 1 %.
            keys: The keys, as ``Savepoint.key`` takes them; an operator with keys of another type
                has none.
            per_key_group: The number of keys of each key group, over all operators with the same max
                parallelism: an operator that has none of them keeps fewer. Reads all keys at once.

        Raises:
            ValueError: None or several arguments are given, or one is out of range.
            KeyTypeError: No operator has keys of the type of ``keys``.

        Example:
            >>> savepoint.sample(0.01).write("/tmp/small")
        """
        given = [argument for argument in (fraction, keys, per_key_group) if argument is not None]
        if len(given) != 1:
            raise ValueError("sample takes one of fraction, keys and per_key_group")
        if fraction is not None and not 0 < fraction <= 1:
            raise ValueError(f"a fraction of {fraction}, expected more than 0 and at most 1")
        if per_key_group is not None and per_key_group < 1:
            raise ValueError(f"{per_key_group} keys per key group, expected at least 1")
        writer, errors, is_chosen = self.writer(), list[KeyTypeError](), False
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
            writer = writer.changed(planned.name, partial(_with_choice, choice))
        if errors and not is_chosen:
            raise errors[0]
        return writer

    def erase(self, answer: FoundValues, *, rewrite: bool = False) -> SavepointWriter:
        """Leaves out the keys that ``find`` has found, in the operators where it found them.

        RocksDB's files and changelogs have old versions of values, and deleted keys. Where ``find``
        found a value in such a file, the keyed state of the operator is written anew.

        Args:
            answer: The answer of ``find`` about this savepoint. From an answer about other
                savepoints of the job, all keys are taken. Operators that are missing here have
                nothing to erase.
            rewrite: Writes the keyed state of all operators anew that may have old versions. Then
                numbers, times and constants can't hide there either.

        Raises:
            KeyTypeError: The answer is about another job, with keys of another type.
            SavepointError: Keyed state that must be written anew can't be read.

        Example:
            >>> found = savepoint.find(["ada@example.com"])
            >>> savepoint.erase(found).write("s3://jobs/without-ada")
        """
        writer = self.writer()
        keys = answer.keys("" if writer.source is None else writer.source.path)
        files = {place.file for place in answer.places if place.file}
        for planned, change in _changes(writer):
            mine = keys.get(planned.name) or keys.get(str(planned.operator_id))
            if mine:
                choice = listed_keys(change.operator, mine, is_excluded=True)
                writer = writer.changed(planned.name, partial(_with_choice, choice))
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


def _with_masks(plan: MaskPlan, change: ChangedOperator) -> ChangedOperator:
    if change.headers.states:
        raise SchemaChangeError(
            f"operator {change.operator.name} has renamed states, and rules know the old names: mask"
            " before you rename, or write the names first, and mask the new savepoint"
        )
    return replace(change, masks=plan)


def _with_choice(choice: KeyChoice, change: ChangedOperator) -> ChangedOperator:
    return replace(change, choices=(*change.choices, choice))


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
            rows = change.stored_rows(None)
            work: Callable[[StoredSplit], dict[int, list[int]]] = partial(_lowest, rows, count)
            of_operator = lowest.setdefault(change.operator.record.max_parallelism, [])
            if writer.spark is None:
                of_operator += map(work, rows.splits())
            else:
                from savepoint_spark.session.tasks import done_by_tasks  # noqa: PLC0415  # Spark is slow

                of_operator += done_by_tasks(writer.spark, work, rows.splits())
    return {most: limits_of(of_splits, count) for most, of_splits in lowest.items()}


def _lowest(rows: StoredKeyedRows, count: int, split: StoredSplit) -> dict[int, list[int]]:
    return lowest_hashes(rows.state_chunks(split), rows.operator.kryo, count)
