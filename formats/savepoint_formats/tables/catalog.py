"""The catalog of an operator: its states, with their kinds and types.

Sources are the headers of state files, states that changelogs register, and timers among raw state.
Subtasks may have different states in a different order. Equal headers are parsed once.

The names of operator states are in ``_metadata``, those of keyed states only in their files. So an
unreadable file belongs to ``keyed_state`` unless another subtask tells which tables there are.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.errors import SavepointError
from savepoint_formats.layout import Layout, Opaque, Struct
from savepoint_formats.locations.stored_object import MAX_KEPT_SIZE
from savepoint_formats.metadata.keyed_handles import ChangelogHandle, KeyGroupsHandle, header_of
from savepoint_formats.metadata.references import size_of, stream_references
from savepoint_formats.state_files.header import (
    HeaderBytes,
    KeyedBackendHeader,
    OperatorBackendHeader,
    StateMetaInfo,
)
from savepoint_formats.state_files.raw_timers import (
    DOMAINS,
    TimerServices,
    first_section,
    has_timers,
    raw_file,
    raw_timer_infos,
)
from savepoint_formats.state_files.state import (
    State,
    StateKind,
    keyed_state,
    keyed_states,
    operator_states,
)
from savepoint_formats.tables.tables import KEYED_STATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata.checkpoint import OperatorState, SubtaskState
    from savepoint_formats.metadata.keyed_handles import BaseHandle, KeyedStateHandle
    from savepoint_formats.metadata.operator_handles import OperatorStateHandle
    from savepoint_formats.state_files.state import StateNames
    from savepoint_formats.tables.tables import Table
    from savepoint_formats.values.kryo.dialect import KryoDialect


@dataclass(frozen=True, slots=True)
class CatalogProblem:
    """A file of a subtask that could not be read; states may therefore be missing.

    Attributes:
        subtask: The index of the subtask.
        error: What is wrong with the file.
        states: The names of the operator states in it.
        is_keyed: Whether it holds keyed state instead.
    """

    subtask: int
    error: SavepointError
    states: tuple[str, ...] = ()
    is_keyed: bool = False

    def __str__(self) -> str:
        return f"subtask {self.subtask}: {self.error}"


def problems_by_table(
    problems: Iterable[CatalogProblem], known: tuple[Table, ...]
) -> dict[str, tuple[CatalogProblem, ...]]:
    """Problems by the name of their table; it may be a table that is not ``known``."""
    keyed = tuple(table.name for table in known if table.states[0].kind.is_keyed)
    by_table: dict[str, tuple[CatalogProblem, ...]] = {}
    for problem in problems:
        for name in (keyed or (KEYED_STATE,)) if problem.is_keyed else problem.states:
            by_table[name] = (*by_table.get(name, ()), problem)
    return by_table


def keyed_headers(
    directory: SnapshotDirectory, subtask: SubtaskState
) -> Iterator[KeyedBackendHeader]:
    """Headers of the files of a subtask's keyed state."""
    for base in base_handles(subtask.managed_keyed_state):
        yield KeyedBackendHeader.parse(HeaderBytes.of_keyed_state(directory, base))


def raw_timers(
    directory: SnapshotDirectory, subtask: SubtaskState, kryo: KryoDialect | None
) -> Iterator[StateMetaInfo]:
    """Queues of the timers among a subtask's raw keyed state."""
    handle = raw_keyed_handle(subtask)
    if handle is not None:
        yield from raw_timer_infos(directory, handle, kryo)


def operator_infos(directory: SnapshotDirectory, subtask: SubtaskState) -> Iterator[StateMetaInfo]:
    """List, union and broadcast states of a subtask."""
    handle = subtask.managed_operator_state
    if handle is not None and handle.states:
        header = HeaderBytes.of_operator_state(directory, handle)
        parsed = OperatorBackendHeader.parse(header)
        yield from (*parsed.list_states, *parsed.broadcast_states)


_AT_ONCE = 16
"""Number of headers that a store is asked for at once."""


@dataclass(frozen=True, slots=True, repr=False)
class OperatorCatalog:
    """States of all subtasks, and bytes of the files that hold them, each byte once.

    ``keyed_size`` counts keyed state and timers, ``operator_size`` everything else. If there are
    ``problems``, files could not be read and states may be missing.
    """

    states: tuple[State, ...]
    keyed_size: int
    operator_size: int
    problems: tuple[CatalogProblem, ...] = ()

    def __repr__(self) -> str:
        return f"OperatorCatalog({len(self.states)} states, {len(self.problems)} problems)"

    @classmethod
    def of(
        cls,
        directory: SnapshotDirectory,
        operator: OperatorState,
        kryo: KryoDialect | None = None,
        key: Layout | None = None,
        names: StateNames | None = None,
    ) -> OperatorCatalog:
        """Reads little more than the headers of the operator's state files.

        ``key`` is the layout of keys for changelogs, used if no file and no timer tells it.
        ``names`` has names of fields that files don't have.
        """
        ask_for_headers(directory, operator.subtasks)
        reader = _CatalogReader(directory, kryo, {}, [], set(), given_key=key)
        for subtask in operator.subtasks:
            reader.read(subtask)
        reader.read_changelogs(operator.subtasks)
        if operator.coordinator_state is not None:
            reader.add(_raw_state(StateKind.COORDINATOR))
        references = tuple(stream_references(operator))
        keyed, others = (
            size_of(it.stream for it in references if it.is_keyed == is_keyed)
            for is_keyed in (True, False)
        )
        # Sections of raw timers tell their own keys, which no type of PyFlink changes.
        raw = None if kryo is None else replace(kryo, python_types=())
        states = tuple(
            state.as_told(raw if state.name in reader.raw_timers else kryo).with_names(names)
            for state in reader.states.values()
        )
        return cls(states, keyed, others, tuple(reader.problems))


@dataclass(slots=True)
class _CatalogReader:
    directory: SnapshotDirectory
    kryo: KryoDialect | None
    states: dict[tuple[bool, bool, str], State]
    problems: list[CatalogProblem]
    seen: set[bytes]
    raw_timers: set[str] = field(default_factory=set)
    key: Layout | None = None
    given_key: Layout | None = None

    def read(self, subtask: SubtaskState) -> None:
        for handle in base_handles(subtask.managed_keyed_state):
            self._read(subtask.index, partial(self._keyed_states, handle))
        handles = subtask.managed_operator_state
        if handles is not None and handles.states:
            names = tuple(state.name for state in handles.states)
            self._read(subtask.index, partial(self._operator_states, handles), names)
        raw_keyed = raw_keyed_handle(subtask)
        if raw_keyed is not None:
            self._read(subtask.index, partial(self._raw_keyed_states, raw_keyed))
        if subtask.raw_operator_state is not None:
            self.add(_raw_state(StateKind.RAW_OPERATOR))

    def read_changelogs(self, subtasks: Iterable[SubtaskState]) -> None:
        """Adds states that changelogs register; files come first because they may tell the key."""
        infos: list[StateMetaInfo] = []
        for subtask in subtasks:
            handle = subtask.managed_keyed_state
            try:
                infos += registered_infos(self.directory, handle)
            except SavepointError as error:
                self.problems.append(CatalogProblem(subtask.index, error, is_keyed=True))
        timers = (keyed_state(info, _UNKNOWN_KEY) for info in infos)
        known = self.key or _key_of(self.states.values()) or _key_of(timers)
        key = known or self.given_key or _UNKNOWN_KEY
        for info in infos:
            self.add(keyed_state(info, key))

    def add(self, state: State) -> None:
        self.states.setdefault((state.kind.is_keyed, state.kind.is_raw, state.name), state)

    def _read(
        self, subtask: int, states: Callable[[], Iterable[State]], names: tuple[str, ...] = ()
    ) -> None:
        """Adds the states of one file; ``names`` are the operator states in it."""
        try:
            for state in states():
                self.add(state)
        except SavepointError as error:
            self.problems.append(CatalogProblem(subtask, error, names, not names))

    def _keyed_states(self, handle: BaseHandle) -> tuple[State, ...]:
        data = HeaderBytes.of_keyed_state(self.directory, handle)
        if not self._is_new(data):
            return ()
        header = KeyedBackendHeader.parse(data)
        self.key = header.key_serializer.layout()
        return keyed_states(header)

    def _operator_states(self, handle: OperatorStateHandle) -> tuple[State, ...]:
        header = HeaderBytes.of_operator_state(self.directory, handle)
        return operator_states(OperatorBackendHeader.parse(header)) if self._is_new(header) else ()

    def _raw_keyed_states(self, handle: KeyGroupsHandle) -> Iterator[State]:
        file = raw_file(self.directory, handle.stream)
        if (first := first_section(file, handle)) is None:
            return
        section, data = first
        if not has_timers(data):
            yield _raw_state(StateKind.RAW_KEYED)
            return
        services = TimerServices.of(data, file.path, section, self.kryo)
        for service in services.services:
            for domain in DOMAINS:
                self.raw_timers.add(service.state_name(domain))
                yield service.queue(domain)
        if services.problem:
            yield State(RAW_TIMERS, StateKind.RAW_KEYED, Opaque("", services.problem))

    def _is_new(self, header: HeaderBytes) -> bool:
        is_new = header.data not in self.seen
        self.seen.add(header.data)
        return is_new


def ask_for_headers(directory: SnapshotDirectory, subtasks: Iterable[SubtaskState]) -> None:
    """Fetches the headers of all files from a store at once; the directory caches them."""
    if directory.is_local:
        return
    headers = [
        header_of(handle)
        for subtask in subtasks
        for handle in base_handles(subtask.managed_keyed_state)
    ]
    for subtask in subtasks:
        handles = subtask.managed_operator_state
        if handles is not None and handles.states:
            headers.append((handles.stream, handles.header_end))
    if len(headers) > 1:
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            # The reader of a missing file reports it.
            list(
                threads.map(lambda at: directory.file(at[0], head=at[1] or MAX_KEPT_SIZE), headers)
            )


def base_handles(handle: KeyedStateHandle | None) -> tuple[BaseHandle, ...]:
    """Handles of files with state, without changelogs."""
    match handle:
        case None:
            return ()
        case ChangelogHandle():
            return handle.base
        case _:
            return (handle,)


def raw_keyed_handle(subtask: SubtaskState) -> KeyGroupsHandle | None:
    """The handle of a subtask's raw keyed state; Flink writes no other kind of handle there."""
    handle = subtask.raw_keyed_state
    return handle if isinstance(handle, KeyGroupsHandle) else None


def registered_infos(
    directory: SnapshotDirectory, handle: KeyedStateHandle | None
) -> Iterator[StateMetaInfo]:
    """The states that a changelog registers; none for other handles."""
    if isinstance(handle, ChangelogHandle):
        from savepoint_formats.state_files.changelog import read_registrations  # noqa: PLC0415  # few jobs have one

        for registration in read_registrations(directory, handle):
            yield registration.info


def _raw_state(kind: StateKind) -> State:
    return State(_RAW_NAMES[kind], kind, Opaque("", "only its operator knows its format"))


RAW_TIMERS = "raw_timers"

_RAW_NAMES = {
    StateKind.RAW_KEYED: "raw_keyed_state",
    StateKind.RAW_OPERATOR: "raw_operator_state",
    StateKind.COORDINATOR: "coordinator_state",
}
_UNKNOWN_KEY = Opaque(
    "",
    "no file of the operator names the serializer of its keys; tell their type by key_types,"
    " --key-type or keyTypes",
)


def _key_of(states: Iterable[State]) -> Layout | None:
    """The layout of keys, from the serializer of timers."""
    for state in states:
        if state.kind is StateKind.TIMERS and isinstance(state.stored, Struct):
            return dict(zip(state.stored.names, state.stored.fields, strict=True)).get("key")
    return None
