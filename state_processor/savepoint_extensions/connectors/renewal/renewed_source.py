"""The operator of a new source: splits of its readers, and the state of its coordinator.

Both are needed. Splits without the coordinator's state are read twice, because the coordinator assigns
them once more; splits that it calls assigned are read by nobody unless a reader has them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from savepoint_extensions.connectors.connector_rows import READER_STATE, position_value
from savepoint_extensions.connectors.kafka.kafka_source import CoordinatorState
from savepoint_extensions.connectors.renewal.renewed_operator import Renewed, with_byte_lists
from savepoint_extensions.connectors.source_splits.split_connectors import CONNECTORS
from savepoint_formats.errors import RefusedError
from savepoint_formats.metadata import InlineStream

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.connectors.connector_rows import SplitFacts
    from savepoint_extensions.connectors.kafka.versioned import Versioned
    from savepoint_extensions.connectors.renewal.renewed_operator import RenewalOptions

_COORDINATOR_VERSION = 1


@dataclass(frozen=True, slots=True)
class NewSplit:
    """A split of a new source.

    Attributes:
        subtask: The subtask that reads it.
        facts: What ``savepoint sources`` shows of it.
        raw: The split.
        problem: Why its position is not that of the old source; empty if it is.
    """

    subtask: int
    facts: SplitFacts
    raw: Versioned
    problem: str = ""


def renewed_source(
    operator: Operator,
    removed: Collection[str],
    splits: Iterable[NewSplit],
    enumerator: Callable[[Sequence[Versioned]], Versioned],
    options: RenewalOptions,
) -> Renewed:
    """The operator with splits in place of some states.

    Args:
        operator: The operator of the old source.
        removed: Its states.
        splits: All splits; those of tables that the user leaves out are dropped.
        enumerator: The state of the enumerator, of the splits.
        options: What the user chose.

    Raises:
        RefusedError: A split has two positions or none, and the user gave no other.
        SavepointError: A file is gone or damaged.
    """
    known = list(splits)
    chosen = _placed(operator, known, options)
    elements: dict[int, dict[str, list[bytes]]] = {}
    for split in chosen:
        lists = elements.setdefault(split.subtask, {READER_STATE: []})
        lists[READER_STATE].append(split.raw.to_bytes())
    record = with_byte_lists(operator, removed, elements)
    state = CoordinatorState(_COORDINATOR_VERSION, enumerator([split.raw for split in chosen]))
    stream = InlineStream(f"renewed-coordinator-{operator.id}", state.to_bytes())
    names = {name for split in known for name in (split.facts.table, split.facts.split)}
    return Renewed(replace(record, coordinator_state=stream), names=frozenset(names))


def _placed(
    operator: Operator, splits: Iterable[NewSplit], options: RenewalOptions
) -> list[NewSplit]:
    """Each split once, at the position that the user gave, if any."""
    chosen: dict[tuple[str, str], NewSplit] = {}
    problems = []
    for split in splits:
        facts = split.facts
        if facts.table in options.without_topics:
            continue
        placed = split
        if text := options.positions.get(facts.split):
            placed = _moved(split, text)
        elif split.problem:
            problems.append(f"{facts.split}: {split.problem}")
        other = chosen.setdefault((facts.table, facts.split), placed)
        if other.raw != placed.raw:
            problems.append(
                f"{facts.kind} {facts.split} has the positions {other.facts.position} and"
                f" {facts.position}"
            )
    if problems:
        raise RefusedError(
            f"operator {operator.name}: {'; '.join(problems)}: give the position by savepoint sources"
            f" PATH OUT --to-new {operator.name} --set SPLIT=POSITION"
        )
    return list(chosen.values())


def _moved(split: NewSplit, text: str) -> NewSplit:
    move = next(row.move for row in CONNECTORS if row.name == split.facts.connector)
    assert move is not None  # positions of all new sources can be set
    return replace(split, raw=move(split.raw, position_value(text), READER_STATE), problem="")
