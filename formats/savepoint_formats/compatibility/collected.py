"""The facts of an operator, from the headers of its files, and from values of POJOs if asked.

A subclass of a POJO that the user has described is as one that a header names.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_formats.compatibility.facts import OperatorFacts, StateFacts, uses_of
from savepoint_formats.compatibility.subclasses import seen_subclasses
from savepoint_formats.errors import SavepointError, SchemaChangeError
from savepoint_formats.snapshots.extracted import Extraction
from savepoint_formats.snapshots.subclasses import kryo_in, with_subclasses
from savepoint_formats.state_files.header import (
    DISTRIBUTION_MODE,
    KEY_SERIALIZER,
    KEYED_STATE_TYPE,
    BackendStateType,
)
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.tables.catalog import registered_infos
from savepoint_formats.tables.stored_infos import (
    keyed_headers,
    operator_infos,
    raw_timers,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.compatibility.facts import SerializerUse
    from savepoint_formats.compatibility.subclasses import Glance, SeenSubclasses
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import OperatorState, SubtaskState
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files.header import StateMetaInfo
    from savepoint_formats.tables.catalog import OperatorCatalog
    from savepoint_formats.values.kryo.dialect import KryoDialect

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
    """What the rules look at of an operator, and why some of it is not known.

    Args:
        directory: Where the snapshot is.
        record: The operator.
        uid: Its uid, if somebody knows it.
        catalog: Its states; those in a format that is not Flink's are taken from here.
        kryo: What is known of the Kryo that wrote object graphs.
        glance: How much is looked at of values of POJOs, for subclasses that nobody has described;
            None if they are of no interest.
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
    """The states of an operator, of all of its subtasks; a subtask may lack some of them."""

    def __init__(self, directory: SnapshotDirectory, kryo: KryoDialect | None) -> None:
        self.states: dict[tuple[bool, str], StateFacts] = {}
        self.problems: list[str] = []
        self._directory, self._kryo = directory, kryo
        self._key: tuple[SerializerUse, ...] = ()

    def read(self, subtask: SubtaskState) -> None:
        """Adds the states of a subtask; what of it can't be read is a problem of the catalog too."""
        for read in (self._read_keyed, self._read_others):
            try:
                read(subtask)
            except SavepointError as error:
                self.problems.append(f"subtask {subtask.index}: {error}")

    def note(self, name: str, seen: SeenSubclasses) -> None:
        """Adds what was seen of the values of a state."""
        for place, facts in self.states.items():
            if place[1] == name:
                subclasses = tuple(sorted({subclass.class_name for subclass in seen.values}))
                self.states[place] = replace(facts, subclasses=subclasses, unseen=seen.unseen)

    def _read_keyed(self, subtask: SubtaskState) -> None:
        for header in keyed_headers(self._directory, subtask):
            self._key = tuple(self._uses(KEY_SERIALIZER, header.key_serializer.snapshot))
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
        own = (use for role, entry in info.serializers for use in self._uses(role, entry.snapshot))
        key = self._key if is_keyed else ()
        is_v2 = info.type is BackendStateType.KEY_VALUE_V2
        facts = StateFacts(info.name, _kind(info), (*key, *own), is_repeated, is_v2=is_v2)
        self.states.setdefault((is_keyed, info.name), facts)

    def _uses(self, role: str, snapshot: TypeSerializerSnapshot) -> Iterator[SerializerUse]:
        """A serializer and those within it; the path begins with what it is for."""
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
