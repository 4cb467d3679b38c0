"""The new form of an operator's states, for another release of Flink or another query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.pass_through import RecodedStates, recoded
from savepoint_formats.state_files import keyed_state
from savepoint_spark.changing.stored_operator_state import (
    element_layout,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from savepoint_formats.layout import Layout
    from savepoint_formats.pass_through import GatheringChange
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files import StateMetaInfo, Step
    from savepoint_formats.values import KryoDialect
    from savepoint_spark.writing.operator_plan import NewOperatorState

    Values = Iterator[tuple[Layout, bytes]]


@dataclass(frozen=True)
class StateRecoding:
    """The new form of an operator's states.

    ``key`` is None without keyed state. ``infos`` has the new headers of keyed states, ``elements``
    the old and new forms of operator states; both only for states that are written anew. ``reads``
    is the Kryo that wrote the objects, ``writes`` the one that will read them. With ``moves_keys``
    the class of keys changes. ``reshaped`` changes the entries of a SQL operator that gets other columns.
    """

    key: TypeSerializerSnapshot | None
    infos: Mapping[str, StateMetaInfo]
    elements: Mapping[str, tuple[NewOperatorState, NewOperatorState]]
    reads: KryoDialect
    writes: KryoDialect
    moves_keys: bool = False
    reshaped: GatheringChange | None = None

    @property
    def recoded(self) -> RecodedStates | GatheringChange | None:
        """The new form of keyed entries; None if they stay."""
        if self.reshaped is not None:
            return self.reshaped
        if self.key is None or not self.infos:
            return None
        key = self.key.layout()
        states = {name: keyed_state(info, key) for name, info in self.infos.items()}
        return RecodedStates(states, self.reads, self.writes, moves_keys=self.moves_keys)

    @property
    def touched(self) -> frozenset[str]:
        """The names of the states that are written anew."""
        return frozenset((*self.infos, *self.elements))

    @property
    def snapshots(self) -> Iterator[TypeSerializerSnapshot]:
        """The new serializers."""
        if self.key is not None:
            yield self.key
        for info in self.infos.values():
            yield from (snapshot for _, snapshot in info.serializers)
        for _, state in self.elements.values():
            yield from state.serializers

    def element_recoding(self, name: str) -> Step:
        """Writes the elements of an operator state anew."""
        old, new = map(element_layout, self.elements[name])
        return partial(recoded, old=old, new=new, reads=self.reads, writes=self.writes)
