"""Faults of the entries of keyed state, in canonical form for any file.

A range of key groups that can't be read is halved until it is one key group, then read state by
state, so that everything else is still checked. Of a heap file, each key group is read by itself.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.checks.faults import Check, Fault, Severity
from savepoint_formats.checks.odd_entries import expect_flags, expect_windows
from savepoint_formats.checks.repeated_keys import RepeatedKeys
from savepoint_formats.checks.unread_values import first_reason, unread_fault
from savepoint_formats.errors import FormatError, SavepointError, UnstableHashError
from savepoint_formats.key_groups import KeyGroupRange
from savepoint_formats.layout import Boolean, Byte, Int, Long, Short, Struct, Text
from savepoint_formats.pass_through.new_key_groups import NewKeyGroups
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.scan.operator_scan import OperatorStateSplit, read_operator_state
from savepoint_formats.sources.heap_source import HeapSource
from savepoint_formats.sources.state_rows import EntryDecoder
from savepoint_formats.state_files.state import State, StateKind, key_layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.entries.entry_ranges import EntryRanges
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import SubtaskState
    from savepoint_formats.sources.entry_source import SourceSettings
    from savepoint_formats.state_files.state_chunk import StateChunk, StoredSource
    from savepoint_formats.values.kryo.dialect import KryoDialect

    Decode = Callable[[Chunk, EntryRanges], None]
    _Place = tuple[str, str, int | None]

MOST_LISTED = 1000
"""Maximum number of errors per chunk; the last one counts all remaining entries as lost."""

# Types whose hash code is certain. A user class may have a tuple's bytes but another hash code.
_SURE = (Boolean, Byte, Short, Int, Long, Text)


@dataclass(slots=True)
class KeyGroupTally:
    """Counts of keys with a known hash code, and of those in a ``wrong`` key group.

    ``example`` has one wrong key per key group: its bytes, and its right key group.
    """

    checked: int = 0
    wrong: Counter[int] = field(default_factory=Counter)
    example: dict[int, tuple[bytes, int]] = field(default_factory=dict)


@dataclass(slots=True)
class CheckedEntries:
    """Counts and faults of a range of key groups, by state.

    ``unhashed`` says why hash codes of keys are unknown, ``unread`` why keys or values are bytes.
    """

    entries: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    expected: dict[str, KeyGroupTally] = field(default_factory=dict)
    unhashed: dict[str, str] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)

    def take(self, other: CheckedEntries) -> None:
        """Adds the counts and faults of other key groups."""
        self.entries.update(other.entries)
        self.faults += other.faults
        self.unhashed.update(other.unhashed)
        self.unread = {**other.unread, **self.unread}
        for name, tally in other.expected.items():
            own = self.expected.setdefault(name, KeyGroupTally())
            own.checked += tally.checked
            own.wrong.update(tally.wrong)
            own.example = {**tally.example, **own.example}


class EntryChecks:
    """Checks entries of one operator."""

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings
        self._decoders: dict[State, Decode] = {}
        self._unread: str | None = None
        self._keys: pa.Array | None = None
        parallelism = settings.max_parallelism
        self._key_groups = NewKeyGroups(parallelism, parallelism, settings.kryo, None)

    def check(
        self, source: StoredSource, names: frozenset[str], part: KeyGroupRange, file: str
    ) -> CheckedEntries:
        """Checks all entries of key groups; faults name ``file`` unless their error has a path."""
        try:
            return self._read(source, names, part, file)
        except SavepointError as error:
            if self._is_everywhere(error, source, names, part):
                return self._state_by_state(source, names, part, (file, error))
            checked = CheckedEntries()
            for smaller in _smaller(source, part):
                checked.take(self.check(source, names, smaller, file))
            return checked

    def _is_everywhere(
        self,
        error: SavepointError,
        source: StoredSource,
        names: frozenset[str],
        part: KeyGroupRange,
    ) -> bool:
        """Whether the first and last key group of a range have the same error.

        If so, a table does not open, or the key groups share a block. That makes one fault for the
        range, and tables are not opened again for each key group.
        """
        if len(part) == 1:
            return True
        for end in (part.start, part.end):
            try:
                self._read(source, names, KeyGroupRange(end, end), "")
            except SavepointError as other:
                if _place(other) == _place(error):
                    continue
            return False
        return True

    def _state_by_state(
        self,
        source: StoredSource,
        names: frozenset[str],
        part: KeyGroupRange,
        known: tuple[str, SavepointError],
    ) -> CheckedEntries:
        """Checks each state of key groups with a fault by itself."""
        file, first = known
        checked = CheckedEntries()
        faults: dict[_Place, Fault] = {}
        has_own_faults = False
        for name in sorted(names) if len(names) > 1 else ():
            try:
                checked.take(self._read(source, frozenset((name,)), part, file))
            except SavepointError as error:
                place = _place(error)
                if len(part) > 1 and place != _place(first):
                    own = self.check(source, frozenset((name,)), part, file)
                    own.faults = [replace(fault, state=name) for fault in own.faults]
                    checked.take(own)
                    has_own_faults = True
                    continue
                fault = _section_fault(error.within(f"state {name!r}"), part, file)
                # A fault between entries shows for every state.
                faults[place] = replace(fault, state="") if place in faults else fault
        if not faults and not has_own_faults:
            checked.faults.append(_section_fault(first, part, file))
        checked.faults += faults.values()
        return checked

    def _read(
        self, source: StoredSource, names: frozenset[str], part: KeyGroupRange, file: str
    ) -> CheckedEntries:
        for remembers in (False, True):
            checked, repeated = CheckedEntries(), RepeatedKeys(remembers=remembers)
            for state_chunk in source.state_chunks(names, part):
                are_in_place = self._state_chunk(state_chunk, checked, file)
                repeated.add(state_chunk, are_in_place=are_in_place)
            if not repeated.is_late:
                break
        checked.faults += repeated.faults(part, file)
        return checked

    def _state_chunk(self, state_chunk: StateChunk, checked: CheckedEntries, file: str) -> bool:
        """Checks entries, and tells whether each is known to be in the key group of its key."""
        name = state_chunk.state.name
        checked.entries[name] += len(state_chunk.entries)
        self._unread = self._keys = None
        checked.faults += self._undecodable(state_chunk, file)
        if self._unread is not None:
            checked.unread.setdefault(name, self._unread)
        if name in checked.unhashed:
            return False
        try:
            expected = self._key_groups.expected(state_chunk, self._keys)
        except UnstableHashError as error:
            # What follows tells a writer what to give; nobody can give a check anything.
            reason = str(error.args[0]).partition("; ")[0]
            checked.unhashed[name] = f"{reason}, so key groups of its keys can't be checked"
            return False
        except SavepointError:
            return False  # a damaged key is a fault already
        return _count(checked.expected.setdefault(name, KeyGroupTally()), state_chunk, expected)

    def _undecodable(self, state_chunk: StateChunk, file: str) -> Iterator[Fault]:
        """A fault per key group with entries that cannot be decoded."""
        firsts: dict[tuple[int, type], FormatError] = {}
        lost: Counter[tuple[int, type]] = Counter()
        path = "a timer" if state_chunk.state.kind is StateKind.TIMERS else "an entry"
        chunk, ranges = state_chunk.entries.in_chunk(path)
        for entry, error, count in _errors(self._decoder(state_chunk.state), chunk, ranges):
            place = int(state_chunk.key_groups[entry]), type(error)
            firsts.setdefault(place, error)
            lost[place] += count
        for place, error in firsts.items():
            error.within(f"state {state_chunk.state.name!r}", f"key group {place[0]}")
            entries = lost[place]
            cost = f"{entries:,} of the state's entries in this key group"
            fault = Fault.of(Check.VALUES, error, file=file, cost=cost, lost_entries=entries)
            # The offset is not one of the file.
            yield replace(fault, offset=None)

    def _decoder(self, state: State) -> Decode:
        if state not in self._decoders:
            applied = self._settings.applied(state)
            is_timer = state.kind is StateKind.TIMERS
            made = self._timers(applied, state) if is_timer else self._entries(applied, state)
            self._decoders[state] = made
        return self._decoders[state]

    def _timers(self, state: State, stored: State) -> Decode:
        timer = program(state.stored, self._settings.kryo)
        fields = state.stored.fields if isinstance(state.stored, Struct) else ()
        has_key = key_layout(state) == key_layout(stored) and key_layout(state) in fields[1:2]

        def read(chunk: Chunk, ranges: EntryRanges) -> None:
            timers = decode(timer, chunk, ranges.key_starts, ranges.key_ends)
            self._unread = self._unread or first_reason(timers)
            expect_windows(timers, chunk, ranges.key_starts)
            self._keys = timers.field("key") if has_key else None

        return read

    def _entries(self, state: State, stored: State) -> Decode:
        decoder = EntryDecoder(state, 0, self._settings.kryo)
        has_key = key_layout(state) == key_layout(stored)

        def read(chunk: Chunk, ranges: EntryRanges) -> None:
            rows = decoder.rows(chunk, ranges)
            identities = decode(decoder.identity, chunk, rows.starts, rows.ends)
            unread = first_reason(identities, rows.values, rows.user_keys)
            self._unread = self._unread or unread
            expect_windows(identities, chunk, rows.starts)
            if state.kind is StateKind.MAP:
                expect_flags(chunk, ranges.value_starts)
            self._keys = identities.field("key") if has_key else None

        return read


def _smaller(source: StoredSource, part: KeyGroupRange) -> Iterable[KeyGroupRange]:
    """Ranges to check one by one instead of a range with an error."""
    if isinstance(source, HeapSource):
        # Values without an end are often in all key groups; to halve the range would read each again
        # and again.
        return [KeyGroupRange(group, group) for group in part]
    middle = (part.start + part.end) // 2
    return KeyGroupRange(part.start, middle), KeyGroupRange(middle + 1, part.end)


def _errors(
    read: Decode, chunk: Chunk, entries: EntryRanges
) -> Iterator[tuple[int, FormatError, int]]:
    """Index and error of each entry that cannot be decoded, and the number of entries lost with it."""
    start, listed = 0, 0
    while start < len(entries):
        rest = entries.chosen(slice(start, None))
        try:
            read(chunk, rest)
        except FormatError as error:
            listed += 1
            if error.record < 0 or listed == MOST_LISTED:
                yield start, error, len(rest)
                return
            yield start + error.record, error, 1
            start += error.record + 1
        else:
            return


def _section_fault(error: SavepointError, part: KeyGroupRange, file: str) -> Fault:
    is_one = len(part) == 1
    cost = f"the state's entries in {'this key group' if is_one else 'these key groups'}"
    has_path = isinstance(error, FormatError) and bool(error.path)
    fault = Fault.of(Check.SECTIONS, error, file="" if has_path else file, cost=cost)
    return replace(fault, key_group=str(part.start) if is_one else str(part))


def _place(error: SavepointError) -> _Place:
    fault = Fault.of(Check.SECTIONS, error)
    return fault.problem, fault.file, fault.offset


def _count(tally: KeyGroupTally, state_chunk: StateChunk, expected: NDArray[np.uint16]) -> bool:
    """Adds these keys; returns whether all are in their key groups."""
    tally.checked += len(expected)
    wrong = np.flatnonzero(expected != state_chunk.key_groups)
    data, keys = state_chunk.entries.key_places
    groups = np.unique(state_chunk.key_groups[wrong], return_index=True, return_counts=True)
    for group, index, count in zip(*groups, strict=True):
        tally.wrong[int(group)] += int(count)
        entry = int(wrong[index])
        key = data[keys.starts[entry] : keys.ends[entry]].tobytes()
        tally.example.setdefault(int(group), (key, int(expected[entry])))
    return not len(wrong)


def key_group_faults(
    states: Iterable[State], checked: CheckedEntries, max_parallelism: int
) -> Iterator[Fault]:
    """Faults of the key groups of an operator's keys."""
    by_name = {state.name: state for state in states}
    for name, reason in checked.unhashed.items():
        yield Fault(Severity.UNCHECKED, Check.KEY_GROUPS, reason, state=name)
    for name, reason in checked.unread.items():
        yield unread_fault(name, reason)
    for name, tally in checked.expected.items():
        wrong = tally.wrong.total()
        is_sure = name in by_name and isinstance(key_layout(by_name[name]), _SURE)
        # By chance, one key in max_parallelism has the right key group.
        if not is_sure and wrong * 2 > tally.checked * (1 - 1 / max_parallelism):
            what = f"{wrong:,} of {tally.checked:,} keys"
            reason = f"{what} have a hash code that only their class knows"
            yield Fault(Severity.UNCHECKED, Check.KEY_GROUPS, reason, state=name)
            continue
        for group, count in sorted(tally.wrong.items()):
            yield _foreign(name, group, count, tally.example[group])


def _foreign(state: str, group: int, count: int, example: tuple[bytes, int]) -> Fault:
    key, belongs = example
    shown = key[:32].hex(" ") + (" …" if len(key) > 32 else "")
    return Fault(
        Severity.DAMAGE,
        Check.KEY_GROUPS,
        f"{count:,} keys belong to another key group; the key of bytes {shown} belongs to {belongs}",
        state=state,
        key_group=str(group),
        lost_entries=count,
        cost=f"{count:,} entries that a job no longer finds",
    )


def checked_elements(
    directory: SnapshotDirectory,
    subtask: SubtaskState,
    states: Iterable[State],
    kryo: KryoDialect | None,
) -> Iterator[tuple[str, int, Fault | None]]:
    """Decodes each operator state of a subtask: its name, number of decoded elements, and fault."""
    handle = subtask.managed_operator_state
    if handle is None:
        return
    counts = {state.name: len(state.offsets) for state in handle.states}
    for state in states:
        if state.kind.is_keyed or state.kind.is_raw or state.name not in counts:
            continue
        split, read, reason = OperatorStateSplit(subtask.index, handle), 0, None
        try:
            for columns in read_operator_state(directory, split, state, kryo):
                read += len(columns[0])
                reason = reason or first_reason(*columns)
        except SavepointError as error:
            lost, cost = _cost(state, counts[state.name] - read)
            fault = Fault.of(Check.VALUES, error, cost=cost, lost_entries=lost)
            yield state.name, read, replace(fault, subtask=subtask.index, state=state.name)
        else:
            yield state.name, read, unread_fault(state.name, reason) if reason else None


def _cost(state: State, left: int) -> tuple[int | None, str]:
    if state.kind is StateKind.BROADCAST:
        return None, "this subtask's copy of the map"
    return left, f"up to {left:,} elements of the state in this subtask"
