"""Faults of types: subtasks that disagree on the type of a state, and types that are unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats.checks.faults import Check, Fault, Severity
from savepoint_formats.errors import SavepointError
from savepoint_formats.layout import Opaque, nodes_of
from savepoint_formats.printable import printable
from savepoint_formats.state_files.header import HeaderBytes, KeyedBackendHeader
from savepoint_formats.state_files.state import keyed_states
from savepoint_formats.tables.catalog import RAW_TIMERS, base_handles
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.undecoded import notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.metadata.keyed_handles import BaseHandle
    from savepoint_formats.state_files.state import State
    from savepoint_formats.values.kryo.dialect import KryoDialect

_PARTS = {"key": "keys", "namespace": "namespaces", "stored": "values"}


def type_faults(
    directory: SnapshotDirectory,
    operator: OperatorState,
    states: Iterable[State],
    kryo: KryoDialect | None,
) -> Iterator[Fault]:
    """Headers that give a state another type than ``states`` does; no table can show both.

    Another check reports headers that can't be read.
    """
    known = {state.name: state for state in states if state.kind.is_keyed}
    seen: set[bytes] = set()
    for subtask in operator.subtasks:
        for base in base_handles(subtask.managed_keyed_state):
            try:
                header = HeaderBytes.of_keyed_state(directory, base)
                if header.data in seen:
                    continue
                seen.add(header.data)
                own = keyed_states(KeyedBackendHeader.parse(header))
            except SavepointError:
                continue
            for state in own:
                problem = _difference(state.as_told(kryo), known.get(state.name))
                if problem is not None:
                    yield _fault(directory, base, subtask.index, state.name, problem)


def unread_faults(states: Iterable[State]) -> Iterator[Fault]:
    """States with values that are shown as bytes, and why; damage where no snapshot can be parsed."""
    for state in states:
        if state.kind.is_raw and state.name != RAW_TIMERS:
            continue  # only its operator knows it
        parts = [part for part in (state.key, state.namespace, state.value) if part is not None]
        damaged = [node.note for part in parts for node in nodes_of(part, Opaque) if node.is_damage]
        reasons = list(
            dict.fromkeys(note for part in parts for note in notes(part, are_certain=True))
        )
        if damaged:
            problem = f"the snapshot of a serializer can't be parsed: {damaged[0]}"
            cost = "values of the state, which are bytes"
            yield Fault(Severity.DAMAGE, Check.HEADERS, problem, state=state.name, cost=cost)
        elif reasons:
            yield Fault(Severity.NOT_READ, Check.VALUES, "; ".join(reasons), state=state.name)


def _difference(own: State, known: State | None) -> str | None:
    """The key, namespace or value of a state that has another type, or none; None if all are right."""
    if known is None:
        return None
    for part, name in _PARTS.items():
        layouts = getattr(own, part), getattr(known, part)
        try:
            here, there = (pa.null() if it is None else arrow_type(it) for it in layouts)
        except SavepointError as error:
            return f"its {name} can't be shown: {error}"
        if here != there:
            return f"its {name} are {here} here, {there} in other subtasks"
    return None


def _fault(
    directory: SnapshotDirectory, base: BaseHandle, subtask: int, state: str, problem: str
) -> Fault:
    return Fault(
        Severity.DAMAGE,
        Check.HEADERS,
        printable(problem),
        subtask=subtask,
        state=printable(state),
        file=HeaderBytes.of_keyed_state(directory, base).path,
        cost="all of the state in this file: its bytes are read as another type",
    )
