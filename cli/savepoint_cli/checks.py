"""Commands that judge: whether a savepoint is whole. None of them starts Spark.

A command ends with 1 if something is wrong with the savepoint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import click

from savepoint_cli.inspect import inspection, open_savepoint
from savepoint_formats.errors import DamagedError

if TYPE_CHECKING:
    from savepoint_cli.output import Output
    from savepoint_formats.checks.faults import Fault
    from state_processor.checks.verification import Depth, Verification

DAMAGED = 1


@click.command()
@inspection
@click.option(
    "--quick/--deep",
    "is_quick",
    default=False,
    show_default=True,
    help="Look at files, sizes, headers and offsets only, or at every key and value too.",
)
def verify(output: Output, path: str, is_quick: bool, **uids: Any) -> None:
    """Check that the savepoint at PATH is whole, and tell what is not, where, and what it costs.

    Every file that is referred to is there, with its size; headers, sections, end marks and offsets
    hold; each key lies in its key group, once; each value decodes to its last byte; the checksums
    of RocksDB's tables are right. The first fault does not end it. Severity "unchecked" is no
    damage: nobody can tell without a class of the job. Exit codes: 0 whole, 1 damaged.

    \b
    savepoint verify s3://jobs/orders/savepoint-1a2b --quick
    """
    found = _verified(path, "quick" if is_quick else "deep", uids)
    output.page(found, ("Faults", [FaultLine.of(fault) for fault in found.faults]))
    if not found.is_whole:
        click.get_current_context().exit(DAMAGED)


@dataclass(frozen=True)
class FaultLine:
    """A fault as people see it: a row of few columns."""

    severity: str
    check: str
    where: tuple[str, ...]
    problem: str
    cost: str

    @classmethod
    def of(cls, fault: Fault) -> Self:
        """The row of a fault."""
        subtask = "" if fault.subtask is None else str(fault.subtask)
        offset = "" if fault.offset is None else f" at byte {fault.offset}"
        parts = {
            "operator ": fault.operator,
            "subtask ": subtask,
            "state ": fault.state,
            "key group ": fault.key_group,
            "": fault.file and f"{fault.file}{offset}",
        }
        where = tuple(f"{name}{part}" for name, part in parts.items() if part)
        return cls(fault.severity, fault.check, where, fault.problem, fault.cost)


def _verified(path: str, depth: Depth, uids: dict[str, Any]) -> Verification:
    from state_processor.checks.verification import Verification  # noqa: PLC0415  # numba is slow

    try:
        savepoint = open_savepoint(path, **uids)
    except DamagedError as error:
        return Verification.of_unreadable(path, depth, error)
    return savepoint.verify(depth)
