"""The facts that rules look at, collected from the headers of files, and optionally from values of POJOs.

A described subclass of a POJO counts like one that a header names.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from savepoint_formats.errors import SavepointError, SchemaChangeError
from savepoint_formats.scan import seen_subclasses
from savepoint_formats.snapshots import (
    Extraction,
    OptionalEntry,
    TypeSerializerSnapshot,
    framed_snapshot,
    kryo_in,
    with_subclasses,
)
from savepoint_formats.state_files import (
    DISTRIBUTION_MODE,
    KEY_SERIALIZER,
    KEYED_STATE_TYPE,
    BackendStateType,
    StateKind,
)
from savepoint_formats.tables import keyed_headers, operator_infos, raw_timers, registered_infos

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.locations import SnapshotDirectory
    from savepoint_formats.metadata import CheckpointMetadata, OperatorState, SubtaskState
    from savepoint_formats.scan import Glance, SeenSubclasses
    from savepoint_formats.state_files import StateMetaInfo
    from savepoint_formats.tables import OperatorCatalog
    from savepoint_formats.values import KryoDialect


ROLES = ("key", "namespace", "value", "user key")
"""The serializers of a state, as paths call them."""

_SUBCLASSES = ("registered", "unregistered")
_NUMBERED = (
    *("TupleSerializerSnapshot", "RowSerializerSnapshot", "RowDataSerializerSnapshot"),
    *("ScalaCaseClassSerializerSnapshot", "Tuple2CaseClassSerializerSnapshot"),
)
_PARTS = {
    "MapSerializerSnapshot": ("{key}", "{value}"),
    "NullAwareMapSerializerSnapshot": ("{key}", "{value}"),
    "TimerSerializerSnapshot": (".key", ".namespace"),
    "ListSerializerSnapshot": ("[]",),
    "ArrayListSerializerSnapshot": ("[]",),
    "SetSerializerSnapshot": ("[]",),
    "GenericArraySerializerSnapshot": ("[]",),
    "TraversableSerializerSnapshot": ("[]",),
}


@dataclass(frozen=True, slots=True)
class SerializerUse:
    """A serializer somewhere in a state.

    Attributes:
        path: Its place: ``value.tags`` is the field of a POJO, ``value[]`` the element of a list.
        is_field: Whether it belongs to a field of a POJO.
    """

    path: str
    snapshot: TypeSerializerSnapshot
    is_field: bool = False

    @property
    def type_class(self) -> str:
        """The class of the values, if the snapshot tells it; else the snapshot's own."""
        names = self.snapshot.names
        return str(self.snapshot["type_class"] if "type_class" in names else self.snapshot_class)

    @property
    def snapshot_class(self) -> str:
        return self.snapshot.class_name


@dataclass(frozen=True, slots=True)
class StateFacts:
    """A state.

    Attributes:
        kind: ``value``, ``map``, ``timers``, ``union list``, ...
        serializers: All of its serializers, including nested ones.
        is_repeated: Whether keyed state of the operator has the name twice.
        subclasses: Undescribed subclasses of POJOs among its values.
        unseen: Reason why not all values were searched for subclasses, or empty.
        is_v2: Whether it is state V2, of an asynchronous operator.
        unreadable: Classes of objects among its values that the target's Kryo can't read back.
        unsearched: Reason why not all values were searched for them, or empty.
    """

    name: str
    kind: str
    serializers: tuple[SerializerUse, ...] = ()
    is_repeated: bool = False
    subclasses: tuple[str, ...] = ()
    unseen: str = ""
    is_v2: bool = False
    unreadable: tuple[str, ...] = ()
    unsearched: str = ""

    @property
    def roots(self) -> dict[str, TypeSerializerSnapshot]:
        """Role of an outermost serializer -> its snapshot."""
        roots: dict[str, TypeSerializerSnapshot] = {}
        for use in self.serializers:
            if use.path in ROLES:
                roots.setdefault(use.path, use.snapshot)
        return roots


@dataclass(frozen=True, slots=True)
class OperatorFacts:
    """An operator: its entry in ``_metadata``, its uid if it is known, and its states."""

    record: OperatorState
    uid: str | None
    states: tuple[StateFacts, ...]


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    """A snapshot as a whole."""

    metadata: CheckpointMetadata


def uses_of(
    snapshot: TypeSerializerSnapshot, path: str, *, is_field: bool = False
) -> Iterator[SerializerUse]:
    """A serializer, and all serializers inside it."""
    yield SerializerUse(path, snapshot, is_field)
    for name, value in zip(snapshot.names, snapshot.values, strict=True):
        match value:
            case TypeSerializerSnapshot():
                yield from uses_of(value, path)
            case (TypeSerializerSnapshot(), *_):
                for index, part in enumerate(value):
                    yield from uses_of(part, path + part_of(snapshot, index))
            case (OptionalEntry(), *_):
                yield from _uses_of_entries(name, value, path)


def _uses_of_entries(
    name: str, entries: tuple[OptionalEntry, ...], path: str
) -> Iterator[SerializerUse]:
    if name != "fields" and name not in _SUBCLASSES:
        return
    for entry in entries:
        snapshot = framed_snapshot(entry)
        if snapshot is not None:
            is_field = name == "fields"
            part = f".{entry.name}" if is_field else f"({entry.name})"
            yield from uses_of(snapshot, path + part, is_field=is_field)


def part_of(snapshot: TypeSerializerSnapshot, index: int) -> str:
    """The name of a nested serializer, to append to the path of the outer one."""
    kind = snapshot.class_name.rpartition(".")[2].rpartition("$")[2]
    if kind in _NUMBERED:
        return f".f{index}"
    parts = _PARTS.get(kind, ())
    return parts[index] if index < len(parts) else ""


_MODES = {
    "SPLIT_DISTRIBUTE": StateKind.OPERATOR_LIST.value,
    "UNION": StateKind.UNION_LIST.value,
    "BROADCAST": StateKind.BROADCAST.value,
}


def operator_facts(
    directory: SnapshotDirectory,
    record: OperatorState,
    uid: str | None,
    catalog: OperatorCatalog,
    kryo: KryoDialect | None,
    glance: Glance | None = None,
) -> tuple[OperatorFacts, tuple[str, ...]]:
    """The facts of an operator, and the reasons why some are not known.

    States of formats that are not Flink's come from the ``catalog``. With a ``glance``, values of
    POJOs are searched for undescribed subclasses.
    """
    collected = _Collected(directory, kryo)
    for subtask in record.subtasks:
        collected.read(subtask)
    if glance is not None and kryo is not None:
        for name, seen in seen_subclasses(directory, record, catalog.states, kryo, glance).items():
            collected.note(name, seen)
    raw = (
        StateFacts(state.name, state.kind.value) for state in catalog.states if state.kind.is_raw
    )
    states = (*collected.states.values(), *raw)
    problems = dict.fromkeys((*collected.problems, *map(str, catalog.problems)))
    return OperatorFacts(record, uid, states), tuple(problems)


class _Collected:
    """The states of an operator, from all subtasks; a subtask may lack some of them."""

    def __init__(self, directory: SnapshotDirectory, kryo: KryoDialect | None) -> None:
        self.states: dict[tuple[bool, str], StateFacts] = {}
        self.problems: list[str] = []
        self._directory, self._kryo = directory, kryo
        self._key: tuple[SerializerUse, ...] = ()

    def read(self, subtask: SubtaskState) -> None:
        """Adds the states of a subtask, or its problems."""
        for read in (self._read_keyed, self._read_others):
            try:
                read(subtask)
            except SavepointError as error:
                self.problems.append(f"subtask {subtask.index}: {error}")

    def note(self, name: str, seen: SeenSubclasses) -> None:
        """Adds the subclasses seen in the values of a state."""
        for place, facts in self.states.items():
            if place[1] == name:
                subclasses = tuple(sorted({subclass.class_name for subclass in seen.values}))
                self.states[place] = replace(facts, subclasses=subclasses, unseen=seen.unseen)

    def _read_keyed(self, subtask: SubtaskState) -> None:
        for header in keyed_headers(self._directory, subtask):
            self._key = tuple(self._uses(KEY_SERIALIZER, header.key_serializer))
            counts = Counter(info.name for info in header.states)
            for info in header.states:
                self._add(info, is_repeated=counts[info.name] > 1)
        for info in registered_infos(self._directory, subtask.managed_keyed_state):
            self._add(info)

    def _read_others(self, subtask: SubtaskState) -> None:
        for info in raw_timers(self._directory, subtask, self._kryo):
            self._add(info)
        for info in operator_infos(self._directory, subtask):
            self._add(info, is_keyed=False)

    def _add(
        self, info: StateMetaInfo, *, is_keyed: bool = True, is_repeated: bool = False
    ) -> None:
        own = (use for role, entry in info.serializers for use in self._uses(role, entry))
        key = self._key if is_keyed else ()
        is_v2 = info.type is BackendStateType.KEY_VALUE_V2
        facts = StateFacts(info.name, _kind(info), (*key, *own), is_repeated, is_v2=is_v2)
        self.states.setdefault((is_keyed, info.name), facts)

    def _uses(self, role: str, snapshot: TypeSerializerSnapshot) -> Iterator[SerializerUse]:
        """A serializer and those inside it; paths begin with the role."""
        classes = () if self._kryo is None else self._kryo.classes
        if any(described.superclass for described in classes):
            is_of_flink_1 = self._kryo is not None and not self._kryo.is_5
            with suppress(SchemaChangeError):
                extraction = Extraction(classes, kryo_in(snapshot), is_of_flink_1)
                snapshot = with_subclasses(snapshot, extraction)
        return uses_of(snapshot, role.removesuffix("_SERIALIZER").lower().replace("_", " "))


def _kind(info: StateMetaInfo) -> str:
    if info.type is BackendStateType.PRIORITY_QUEUE:
        return StateKind.TIMERS.value
    mode = info.option(DISTRIBUTION_MODE)
    return _MODES.get(mode) or info.option(KEYED_STATE_TYPE, "value").lower()
