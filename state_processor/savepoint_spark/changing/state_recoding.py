"""The new form of an operator's states, for another release of Flink or another query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from savepoint_formats.pass_through import RecodedStates, recoded
from savepoint_formats.state_files import keyed_state
from savepoint_spark.changing.change import Change, Part
from savepoint_spark.changing.stored_operator_state import element_layout

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from savepoint_formats.hashing import HashKeys
    from savepoint_formats.pass_through import EntryChange
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files import StateMetaInfo, Step
    from savepoint_formats.values import KryoDialect
    from savepoint_spark.writing.operator_plan import NewOperatorState


@dataclass(frozen=True)
class StateRecoding(Change):
    """The new form of an operator's states.

    ``key`` is None without keyed state. ``infos`` has the new headers of keyed states, ``elements``
    the old and new forms of operator states; both only for states that are written anew. ``reads``
    is the Kryo that wrote the objects, ``writes`` the one that will read them. With
    ``retypes_keys`` the class of keys changes.
    """

    key: TypeSerializerSnapshot | None
    infos: Mapping[str, StateMetaInfo]
    elements: Mapping[str, tuple[NewOperatorState, NewOperatorState]]
    reads: KryoDialect
    writes: KryoDialect
    retypes_keys: bool = False

    does: ClassVar = frozenset({Part.ENTRIES})

    @property
    def touched(self) -> frozenset[str]:
        """See ``Change``."""
        return frozenset((*self.infos, *self.elements))

    def snapshots(self) -> Iterator[TypeSerializerSnapshot]:
        """See ``Change``."""
        if self.key is not None:
            yield self.key
        for info in self.infos.values():
            yield from (snapshot for _, snapshot in info.serializers)
        for _, state in self.elements.values():
            yield from state.serializers

    def new_key(self, key: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        """See ``Change``."""
        return self.key or key

    def new_info(self, info: StateMetaInfo) -> StateMetaInfo:
        """See ``Change``."""
        return self.infos.get(info.name, info)

    def new_kryo(self, kryo: KryoDialect) -> KryoDialect:  # noqa: ARG002  # as of all
        """See ``Change``."""
        return self.writes

    def entries(self, hash_keys: HashKeys | None) -> EntryChange | None:  # noqa: ARG002  # as of all
        """See ``Change``."""
        if self.key is None or not self.infos:
            return None
        key = self.key.layout()
        states = {name: keyed_state(info, key) for name, info in self.infos.items()}
        return RecodedStates(states, self.reads, self.writes, moves_keys=self.retypes_keys)

    def new_elements(self, state: NewOperatorState) -> tuple[tuple[Step, ...], NewOperatorState]:
        """See ``Change``."""
        if state.name not in self.elements:
            return (), state
        known, new = self.elements[state.name]
        layouts = {"old": element_layout(known), "new": element_layout(new)}
        return (partial(recoded, **layouts, reads=self.reads, writes=self.writes),), new


@dataclass(frozen=True)
class EntryRecoding(StateRecoding):
    """The new form of keyed states, whose entries ``change`` writes anew in a way of its own."""

    change: EntryChange | None = None

    does: ClassVar = frozenset({Part.ENTRIES, Part.SEALED})

    def entries(self, hash_keys: HashKeys | None) -> EntryChange | None:  # noqa: ARG002  # as of all
        """See ``Change``."""
        return self.change
