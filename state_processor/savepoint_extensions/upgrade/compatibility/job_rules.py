"""Rules about operators and states that a new version of a job restores: a row each.

For some forty changes, a real Flink does what these rules and ``JOB_TYPE_RULES`` predict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_extensions.upgrade.compatibility.operator_rules import UPGRADING
from savepoint_extensions.upgrade.compatibility.rules import Rule, Verdict, whole_if

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_extensions.upgrade.compatibility.job_pairs import OperatorPair, StatePair

_DEFAULT_MAX_PARALLELISM = 128
ANOTHER_STATE = (
    "give the state another name in the job, and fill it with converted old values:"
    " savepoint export PATH TABLE FILE, savepoint import"
)


def _moved(pair: OperatorPair | StatePair) -> Iterator[str]:
    if pair.old is not None and pair.likely:
        yield f"{pair.old.name} → {' or '.join(pair.likely)}"


def _max_parallelism(*, is_default: bool) -> Callable[[OperatorPair], Iterator[str]]:
    def finds(pair: OperatorPair) -> Iterator[str]:
        if pair.old is None or pair.new is None or not pair.old.is_keyed:
            return
        before, after = pair.old.max_parallelism, pair.new.max_parallelism
        if before != after and is_default is (after == _default_for(pair.new.parallelism)):
            yield f"{before} → {after}"

    return finds


def _default_for(parallelism: int) -> int:
    """Max parallelism of an operator that sets none.

    Flink: ``KeyGroupRangeAssignment.computeDefaultMaxParallelism``.
    """
    wanted = parallelism + parallelism // 2
    return min(max(1 << max(wanted - 1, 0).bit_length(), _DEFAULT_MAX_PARALLELISM), 1 << 15)


def _parallelism(pair: OperatorPair) -> Iterator[str]:
    if pair.old is None or pair.new is None or not pair.old.is_keyed:
        return
    if pair.new.parallelism > pair.old.max_parallelism:
        yield f"parallelism {pair.new.parallelism} > {pair.old.max_parallelism}"


def _kind(pair: StatePair) -> Iterator[str]:
    if pair.old is not None and pair.new is not None and pair.old.kind != pair.new.kind:
        yield f"{pair.old.kind} → {pair.new.kind}"


JOB_OPERATOR_RULES: tuple[Rule[OperatorPair], ...] = (
    Rule(
        "operator-missing",
        Verdict.AFTER_MIGRATION,
        whole_if(lambda pair: pair.new is None and not pair.likely),
        "the new job has no operator with this uid. Flink refuses the savepoint, or drops the state"
        " if it is started with --allowNonRestoredState",
        "if you don't need the state: savepoint remove-operator PATH OPERATOR OUT, or --allowNonRestoredState;"
        " if the operator has another uid now: savepoint rename-operator PATH OPERATOR UID OUT",
        f"{UPGRADING}#matching-operator-state",
    ),
    Rule(
        "operator-moved",
        Verdict.AFTER_MIGRATION,
        _moved,
        "the new job has these states in an operator whose uid is not in the savepoint."
        " Flink refuses the savepoint; with --allowNonRestoredState it drops the state, and the new"
        " operator begins empty",
        "savepoint rename-operator PATH OLD NEW OUT, or give the operator its uid back",
        f"{UPGRADING}#matching-operator-state",
    ),
    Rule(
        "operator-new",
        Verdict.RESTORABLE,
        whole_if(lambda pair: pair.old is None),
        "the savepoint has no state for this operator of the new job, which begins empty",
        "if it had another uid: savepoint rename-operator PATH OLD NEW OUT",
        f"{UPGRADING}#matching-operator-state",
    ),
    Rule(
        "other-max-parallelism",
        Verdict.AFTER_MIGRATION,
        _max_parallelism(is_default=False),
        "the new job sets another max parallelism, with which Flink does not restore keyed state",
        "savepoint rescale PATH OUT --max-parallelism N, or set the old one in the job",
        "StateAssignmentOperation",
    ),
    Rule(
        "default-max-parallelism",
        Verdict.RESTORABLE,
        _max_parallelism(is_default=True),
        "the new job has Flink's default max parallelism. A job that sets none"
        " takes the savepoint's; a job that sets the default is refused",
        "if the job sets it: savepoint rescale PATH OUT --max-parallelism N",
        "StateAssignmentOperation; KeyGroupRangeAssignment",
    ),
    Rule(
        "too-many-subtasks",
        Verdict.AFTER_MIGRATION,
        _parallelism,
        "the new job has more subtasks than the savepoint has key groups",
        "savepoint rescale PATH OUT --max-parallelism N, or a smaller parallelism",
        "StateAssignmentOperation",
    ),
)

JOB_STATE_RULES: tuple[Rule[StatePair], ...] = (
    Rule(
        "state-not-used",
        Verdict.RESTORABLE,
        whole_if(lambda pair: pair.new is None and not pair.likely),
        "the new job does not declare it: Flink keeps it, and writes it into each later savepoint."
        " The classes of its serializers must still be there",
        "if you don't need it: savepoint remove-state PATH OPERATOR STATE OUT; if it has another name now:"
        " savepoint rename-state PATH OPERATOR OLD NEW OUT",
        UPGRADING,
    ),
    Rule(
        "state-renamed",
        Verdict.RESTORABLE,
        _moved,
        "the new job declares a state of the same type under another name, which begins empty:"
        " Flink restores it without these values, and without an error",
        "if it is the same state: savepoint rename-state PATH OPERATOR OLD NEW OUT",
        UPGRADING,
    ),
    Rule(
        "state-new",
        Verdict.RESTORABLE,
        whole_if(lambda pair: pair.old is None),
        "the savepoint does not have this state of the new job, which begins empty",
        "if it had another name: savepoint rename-state PATH OPERATOR OLD NEW OUT",
        UPGRADING,
    ),
    Rule(
        "state-kind",
        Verdict.NOT_RESTORABLE,
        _kind,
        "the new job declares another kind of state under this name",
        ANOTHER_STATE,
        "RegisteredKeyValueStateBackendMetaInfo.checkStateMetaInfo",
    ),
)
