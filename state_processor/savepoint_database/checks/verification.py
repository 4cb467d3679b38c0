"""Verification of a snapshot: every file, header, offset, key and value.

| check                                                                     | quick | deep |
|---------------------------------------------------------------------------|-------|------|
| files exist, have their size, and begin as files of their kind do         | yes   | yes  |
| headers can be read; offsets lie inside of their files, in order          | yes   | yes  |
| headers have what Flink needs of a state; ids are the hashes of their uids | yes   | yes  |
| sections hold whole entries of their own key group, up to their end marks |       | yes  |
| checksums of the blocks of RocksDB's tables and of its manifest           |       | yes  |
| the tables of RocksDB are those that its manifest lists                   |       | yes  |
| each key exists once, in the key group of its hash code                   |       | yes  |
| keys and values can be decoded, to their last byte                        |       | yes  |
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Literal

from savepoint_database.checks.contents import OperatorContents, Part, looked_at
from savepoint_formats.checks.faults import Check, Fault, Severity
from savepoint_formats.checks.header_faults import checked_files, header_faults
from savepoint_formats.checks.type_faults import type_faults, unread_faults
from savepoint_formats.errors import SavepointError
from savepoint_formats.key_groups import OperatorId
from savepoint_formats.printable import html_printable, html_records, printable, without_secrets
from savepoint_formats.scan import check_subtasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_database.snapshot.operator import Operator
    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_formats.checks.entry_faults import CheckedEntries

    Look = Callable[[Iterable[Part]], Iterable[CheckedEntries]]

Depth = Literal["quick", "deep"]


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of a verification.

    Attributes:
        path: The savepoint.
        depth: ``quick`` or ``deep``.
        result: ``whole``, ``not read`` or ``damaged``.
        is_whole: Whether all state was read, and nothing is damaged.
        operators: Number of operators.
        files: Number of checked files.
        file_size: Bytes of these files; of some files, only a range counts.
        entries: Number of decoded entries and elements.
        faults: Damage, state that can't be read, each once, and what could not be checked.
    """

    path: str
    depth: str
    result: str
    is_whole: bool
    operators: int
    files: int
    file_size: int
    entries: int
    faults: tuple[Fault, ...]

    def _repr_html_(self) -> str:
        names = ("severity", "check", "operator", "state", "file", "problem", "cost")
        title = (
            f"{without_secrets(self.path)}: {self.result} ({self.depth}: {self.operators:,} operators,"
            f" {self.files:,} files, {self.entries:,} entries)"
        )
        if not self.faults:
            return f"<p>{html_printable(title)}</p>"
        return html_records(title, self.faults, names)

    @classmethod
    def of(cls, snapshot: Snapshot, depth: Depth = "deep", look: Look = looked_at) -> Verification:
        """Checks a snapshot; see the table of this module.

        ``look`` checks the contents of operators, in this process or elsewhere.

        Raises:
            ValueError: There is no such depth.
        """
        if depth not in ("quick", "deep"):
            raise ValueError(f"depth is {depth!r}, expected 'quick' or 'deep'")
        checked = [_OperatorChecks.of(operator) for operator in snapshot.operators()]
        for checks in checked:
            checks.check_references(snapshot.metadata.checkpoint_id)
        files = {place: size for checks in checked for place, size in checks.files.items()}
        entries = 0
        if depth == "deep":
            contents = [checks.contents() for checks in checked]
            parts = [list(whole.parts()) for whole in contents]
            seen = iter(look(chain.from_iterable(parts)))
            for checks, own, whole in zip(checked, parts, contents, strict=True):
                count, content_faults = whole.faults(islice(seen, len(own)))
                checks.faults += content_faults
                entries += count
        for checks in checked:
            checks.faults += unread_faults(checks.operator.catalog.states)
        faults = tuple(chain.from_iterable(checks.named_faults() for checks in checked))
        result = _result(faults)
        return cls(
            path=snapshot.path,
            depth=depth,
            result=result,
            is_whole=result == _WHOLE,
            operators=len(snapshot.operators()),
            files=len(files),
            file_size=sum(files.values()),
            entries=entries,
            faults=faults,
        )

    @classmethod
    def of_unreadable(cls, path: str, depth: Depth, error: SavepointError) -> Verification:
        """The answer for a savepoint whose ``_metadata`` can't be read."""
        fault = Fault.of(Check.METADATA, error, cost="all state: nothing else says where it is")
        return cls(path, depth, _result([fault]), False, 0, 0, 0, 0, (fault,))


_WHOLE = "whole"
_RECORD = re.compile(r", in record \d+")


def _result(faults: Iterable[Fault]) -> str:
    severities = {fault.severity for fault in faults}
    if Severity.DAMAGE in severities:
        return "damaged"
    return "not read" if Severity.NOT_READ in severities else _WHOLE


@dataclass(slots=True)
class _OperatorChecks:
    """Files, unreadable files and faults of one operator.

    ``files`` maps path, first byte and size of each file or range to its bytes.
    """

    operator: Operator
    files: dict[tuple[str, int, int | None], int] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)
    faults: list[Fault] = field(default_factory=list)

    @classmethod
    def of(cls, operator: Operator) -> _OperatorChecks:
        """Checks files and headers, not the contents."""
        record, directory = operator.record, operator.directory
        seen = cls(operator)
        try:
            check_subtasks(record, directory.metadata_path)
        except SavepointError as error:
            seen.faults.append(Fault.of(Check.METADATA, error, cost="rows of its key groups"))
        seen.faults += _uid_faults(operator)
        for checked_file in checked_files(directory, record):
            seen.files[checked_file.file.path, checked_file.file.start, checked_file.file.size] = (
                checked_file.size
            )
            if not checked_file.is_readable:
                seen.unreadable.add(checked_file.file.path)
            if checked_file.fault is not None:
                seen.faults.append(checked_file.fault)
        for subtask in record.subtasks:
            seen.faults += header_faults(directory, subtask, frozenset(seen.unreadable))
        seen.faults += type_faults(directory, record, operator.catalog.states, operator.kryo)
        return seen

    def check_references(self, checkpoint_id: int) -> None:
        """Names the checkpoints that the state of subtasks is of, if it is not of this one."""
        references = {it.index: it.reference_checkpoint for it in self.operator.record.subtasks}
        for index, fault in enumerate(self.faults):
            other = None if fault.subtask is None else references.get(fault.subtask)
            if other is not None and fault.check is Check.FILES:
                cost = (
                    f"{fault.cost}; it is state of checkpoint {other}, which others may need, too"
                )
                self.faults[index] = replace(fault, cost=cost)
        for subtask, other in references.items():
            if other is not None and not 0 <= other <= checkpoint_id:
                problem = f"state of checkpoint {other}, expected none after {checkpoint_id}"
                fault = Fault(Severity.DAMAGE, Check.METADATA, problem, subtask=subtask)
                self.faults.append(replace(fault, file=self.operator.directory.metadata_path))

    def named_faults(self) -> Iterator[Fault]:
        """All faults; state that can't be read is named once, wherever it lies."""
        name = self.operator.name
        unread: dict[tuple[str, str], Fault] = {}
        headers = {fault.state for fault in self.faults if fault.check is Check.HEADERS} - {""}
        for fault in self.faults:
            if fault.severity is Severity.NOT_READ and fault.state not in headers:
                problem = _RECORD.sub("", fault.problem)
                once = replace(fault, problem=problem, subtask=None, key_group="", offset=None)
                unread.setdefault((fault.state, "" if fault.state else problem), once)
        others = (
            fault
            for fault in dict.fromkeys(self.faults)
            if fault.is_damage
            or (fault.severity is Severity.UNCHECKED and (fault.state, "") not in unread)
        )
        for fault in (*others, *unread.values()):
            yield replace(fault, operator=name)

    def contents(self) -> OperatorContents:
        operator = self.operator
        states = tuple(operator.catalog.states)
        unreadable = frozenset(self.unreadable)
        return OperatorContents(
            operator.directory, operator.record, states, operator.kryo, unreadable
        )


def _uid_faults(operator: Operator) -> Iterator[Fault]:
    """Checks that the operator's id is the hash of the uid stored with it."""
    uid, operator_id = operator.record.uid, operator.record.operator_id
    if uid and (own := OperatorId.from_uid(uid)) != operator_id:
        yield Fault(
            Severity.DAMAGE,
            Check.METADATA,
            f"uid {printable(uid)!r} has the hash {own}, but the id of the operator is {operator_id}",
            file=operator.directory.metadata_path,
            cost="all state of the operator: a job with this uid does not find it",
        )
