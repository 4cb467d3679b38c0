"""Parts of a search that run independently of each other, in this process or in tasks of Spark.

| part             | is searched                                                               |
|------------------|---------------------------------------------------------------------------|
| ``KeyedPart``    | decoded: some key groups of a handle of keyed state                       |
| ``ElementsPart`` | decoded: an operator state of a subtask                                   |
| ``FilePart``     | as bytes: a file, or the contents of its ranges that are compressed       |

The parts, and their order, are the same wherever they run, and so is the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from savepoint_extensions.privacy.file_search import FileSearch, path_of, table_role
from savepoint_extensions.privacy.mask_methods import FieldType
from savepoint_extensions.privacy.mask_plan import mask_fields
from savepoint_extensions.privacy.value_search import ValueSearch
from savepoint_formats.errors import SavepointError
from savepoint_formats.metadata import keyed_streams, stream_references
from savepoint_formats.scan import SPLIT_SIZE, operator_splits, ranges_of_handle
from savepoint_formats.sources.keyed_source import keyed_handles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.privacy.text_forms import SoughtTexts
    from savepoint_extensions.privacy.value_search import Decimals, Hit
    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.metadata import OperatorStateHandle, StreamReference
    from savepoint_formats.state_files import State

    Part: TypeAlias = "KeyedPart | ElementsPart | FilePart"
    Run: TypeAlias = Callable[[Callable[[Part], "Findings"], Sequence[Part]], Iterable["Findings"]]
    """Calls a function for each part, and gives its results in order."""


@dataclass
class Findings:
    """The answer of a part, or of several.

    Attributes:
        hits: Places -> how many entries or elements match.
        entries: Searched entries and elements.
        table_entries: Current entries of keyed state in tables of RocksDB.
        counts: File -> its matches.
        digests: File -> its SHA-256.
        versions: Entries of tables of RocksDB, old ones included.
        has_former_keys: Whether a file may have keys of former tables of RocksDB.
        problems: What could not be read or searched of decoded state.
        file_problems: What could not be read or searched of files.
    """

    hits: dict[Hit, int] = field(default_factory=dict)
    entries: int = 0
    table_entries: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    versions: int = 0
    has_former_keys: bool = False
    problems: list[str] = field(default_factory=list)
    file_problems: list[str] = field(default_factory=list)

    def take(self, other: Findings) -> None:
        """Adds the answer of a later part; a problem that several parts have is told once."""
        for hit, count in other.hits.items():
            self.hits[hit] = self.hits.get(hit, 0) + count
        for file, count in other.counts.items():
            self.counts[file] = self.counts.get(file, 0) + count
        self.digests |= other.digests
        self.entries += other.entries
        self.table_entries += other.table_entries
        self.versions += other.versions
        self.has_former_keys |= other.has_former_keys
        self.problems = list(dict.fromkeys((*self.problems, *other.problems)))
        self.file_problems = list(dict.fromkeys((*self.file_problems, *other.file_problems)))


@dataclass(frozen=True)
class KeyedPart:
    """Some key groups of a handle, the number ``handle`` of its subtask."""

    operator: Operator
    decimals: Decimals
    subtask: int
    handle: int
    key_groups: KeyGroupRange
    size: int

    def findings(self, sought: SoughtTexts, *, contains: bool) -> Findings:
        """Searches keys and values."""
        search = ValueSearch(sought, contains=contains, decimals=self.decimals)
        stored = tuple(keyed_handles(self.operator.record.subtasks[self.subtask]))[self.handle]
        hits = search.in_key_groups(self.operator, stored, self.key_groups)
        return _of_values(search, hits, f"operator {self.operator.name}")


@dataclass(frozen=True)
class ElementsPart:
    """The elements of an operator state in a handle."""

    operator: Operator
    decimals: Decimals
    state: State
    handle: OperatorStateHandle
    size: int

    def findings(self, sought: SoughtTexts, *, contains: bool) -> Findings:
        """Searches all elements."""
        search = ValueSearch(sought, contains=contains, decimals=self.decimals)
        hits = search.in_elements(self.operator, self.state, self.handle)
        where = f"operator {self.operator.name}, state {self.state.name!r}"
        return _of_values(search, hits, where)


def _of_values(search: ValueSearch, hits: Iterable[Hit], where: str) -> Findings:
    findings = Findings(problems=search.problems)
    try:
        for hit in hits:
            findings.hits[hit] = findings.hits.get(hit, 0) + 1
    except SavepointError as error:
        findings.problems.append(f"{where}: {error}")
    findings.entries, findings.table_entries = search.entries, search.table_entries
    return findings


@dataclass(frozen=True)
class FilePart:
    """A file that an operator refers to.

    Attributes:
        operator: The operator.
        reference: How it refers to it.
        is_first: Whether no part before has searched the bytes of the whole file.
        is_new: Whether no part before has searched the contents of this range of it.
        size: Its bytes, as far as they are known.
    """

    operator: Operator
    reference: StreamReference
    is_first: bool
    is_new: bool
    size: int

    def findings(self, sought: SoughtTexts, *, contains: bool) -> Findings:  # noqa: ARG002  # as the others
        """Searches the bytes, and what is compressed in them."""
        search = FileSearch(sought)
        file = self.operator.directory.file(self.reference.stream)
        try:
            if self.is_first:
                search.in_bytes(file)
            if self.is_new:
                search.in_contents(file, is_table=table_role(self.reference.role))
            search.in_log(self.reference.role, file)
        except SavepointError as error:
            search.problems.append(f"{file.path}: {error}")
        return Findings(
            counts=search.counts,
            digests=search.digests,
            versions=search.versions,
            has_former_keys=search.has_former_keys,
            file_problems=search.problems,
        )


class PartPlan:
    """Plans the parts of operators; a file that several of them share is searched once."""

    def __init__(self) -> None:
        self.owners: dict[str, str] = {}
        """File -> the first operator that refers to it."""
        self._ranges: set[tuple[str, int, bool]] = set()

    def parts(self, operator: Operator, problems: list[str]) -> Iterator[Part]:
        """The parts of an operator; problems of the plan go to ``problems``."""
        decimals: Decimals = frozenset()
        try:
            operator.expect_read()
            decimals = frozenset(
                (place.state, place.field)
                for place in mask_fields(operator)
                if place.type is FieldType.DECIMAL
            )
            if any(state.kind.is_keyed for state in operator.catalog.states):
                yield from _keyed_parts(operator, decimals)
        except SavepointError as error:
            problems.append(f"operator {operator.name}: {error}")
        for state in operator.catalog.states:
            if not state.kind.is_keyed and not state.kind.is_raw:
                for split in operator_splits(operator.record):
                    size = max(split.handle.stream.size, 0)
                    yield ElementsPart(operator, decimals, state, split.handle, size)
        yield from self._file_parts(operator)

    def _file_parts(self, operator: Operator) -> Iterator[FilePart]:
        for reference in stream_references(operator.record):
            file, is_table = operator.directory.file(reference.stream), table_role(reference.role)
            is_inline, path = file.data is not None, path_of(file)
            is_first = not is_inline and path not in self.owners
            if is_first:
                self.owners[path] = operator.name
            place = path, file.start, is_table
            is_new = is_table if is_inline else place not in self._ranges
            if not is_inline:
                self._ranges.add(place)
            size = max(file.declared_size or 0 if is_first else 0, reference.stream.size, 0)
            yield FilePart(operator, reference, is_first, is_new, size if is_new else 0)


def _keyed_parts(operator: Operator, decimals: Decimals) -> Iterator[KeyedPart]:
    for number, subtask in enumerate(operator.record.subtasks):
        for place, (handle, _) in enumerate(keyed_handles(subtask)):
            size = sum(max(stream.size, 0) for _, _, stream in keyed_streams(handle, ""))
            for key_groups in ranges_of_handle(handle, handle.key_groups, SPLIT_SIZE):
                own_size = size * len(key_groups) // len(handle.key_groups)
                yield KeyedPart(operator, decimals, number, place, key_groups, own_size)
