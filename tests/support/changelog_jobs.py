"""Changes of keyed state by jobs: as a changelog logs them, and their result."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.layout import Layout, Long, MapOf, Nullable, Repeated, Text, VoidNamespace
from savepoint_formats.metadata import SubtaskState
from savepoint_formats.state_files.changelog import StateChangeOperation as Operation
from savepoint_formats.values.state_entries import Delimited, EntryWriter, NullableRest
from support.hand_made import (
    EVERYTHING,
    LONG,
    STRING,
    VOID,
    Record,
    canonical_base,
    change,
    changelog,
    encoded,
    entry_identity,
    group_of,
    header,
    heap_base,
    i32,
    in_memory,
    list_of,
    map_of,
    meta_info,
    operator_of,
    registration,
    rows,
    timers_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.metadata import ChangelogHandle, KeyGroupsHandle

Contents = dict[tuple[str, Any], Any]
"""Key and namespace -> value."""


@dataclass(frozen=True)
class Described:
    """A state: its kind, its serializer and layout."""

    kind: str
    serializer: bytes
    layout: Layout


WORDS = MapOf(Text(), Nullable(Text()))
STATES = {
    "value": Described("VALUE", LONG, Long()),
    "list": Described("LIST", list_of(STRING), Repeated(Text())),
    "map": Described("MAP", map_of(STRING, STRING), WORDS),
    "sum": Described("REDUCING", LONG, Long()),
    "largest": Described("AGGREGATING", STRING, Text()),
}
NAMES = tuple(STATES)


def infos(namespace: bytes) -> list[bytes]:
    return [
        meta_info(name, state.kind, state.serializer, namespace) for name, state in STATES.items()
    ]


def registrations(*namespace: bytes) -> list[Record]:
    return [
        (-1, registration(number, name, STATES[name].kind, STATES[name].serializer, *namespace))
        for number, name in enumerate(NAMES)
    ]


@dataclass(frozen=True)
class Step:
    """A change that a job did."""

    state: str
    operation: Operation
    key: str
    namespace: Any
    payload: Any = None

    def record(self, namespace: Layout) -> Record:
        """As it is logged."""
        place = encoded(Text(), self.key) + encoded(namespace, self.namespace)
        data = change(self.operation, NAMES.index(self.state), place, self._payload(namespace))
        return group_of(self.key), data

    def _payload(self, namespace: Layout) -> bytes:
        layout = STATES[self.state].layout
        match self.operation, layout:
            case Operation.CLEAR, _:
                return b""
            case Operation.MERGE_NS, _:
                sources = b"".join(encoded(namespace, source) for source in self.payload)
                target = encoded(namespace, self.namespace)
                return target + i32(len(self.payload)) + sources
            case Operation.ADD_ELEMENT, Repeated(element):
                return encoded(element, self.payload)
            case ((Operation.ADD_ELEMENT | Operation.ADD_OR_UPDATE_ELEMENT), MapOf()):
                return b"".join(encoded(Text(), value) for value in self.payload)
            case Operation.REMOVE_ELEMENT, _:
                return encoded(Text(), self.payload)
            case _:
                return encoded(layout, self.payload)

    def do(self, contents: Contents) -> None:
        """As the job did it."""
        place, payload = (self.key, self.namespace), self.payload
        match self.operation, STATES[self.state].kind:
            case Operation.CLEAR, _:
                contents.pop(place, None)
            case Operation.MERGE_NS, _:
                self._merge(contents)
            case Operation.ADD, "LIST":
                contents[place] = [*contents.get(place, []), *payload]
            case Operation.ADD_ELEMENT, "LIST":
                contents[place] = [*contents.get(place, []), payload]
            case Operation.ADD, "MAP":
                contents[place] = {**contents.get(place, {}), **payload}
            case ((Operation.ADD_ELEMENT | Operation.ADD_OR_UPDATE_ELEMENT), "MAP"):
                contents[place] = {**contents.get(place, {}), payload[0]: payload[1]}
            case Operation.REMOVE_ELEMENT, _:
                entries = {**contents.get(place, {})}
                entries.pop(payload, None)
                contents[place] = entries
            case _:
                contents[place] = payload
        if contents.get(place) in ([], {}):
            del contents[place]

    def _merge(self, contents: Contents) -> None:
        target, kind = (self.key, self.namespace), STATES[self.state].kind
        for source in self.payload:
            value = contents.pop((self.key, source), None)
            if value is None:
                continue
            present = contents.get(target)
            if present is None:
                contents[target] = value
            elif kind == "LIST":
                contents[target] = [*present, *value]
            elif kind == "MAP":
                contents[target] = {**present, **value}
            else:
                contents[target] = UNMERGED


UNMERGED = "needs a function of the job"


@dataclass
class Job:
    """Content of a job's states."""

    contents: dict[str, Contents] = field(default_factory=lambda: {name: {} for name in NAMES})

    def do(self, steps: Sequence[Step]) -> None:
        for step in steps:
            step.do(self.contents[step.state])

    def is_unmerged(self) -> bool:
        return any(UNMERGED in values.values() for values in self.contents.values())

    def rows(self) -> dict[tuple[str, Any], dict[str, Any]]:
        """Key and namespace -> name -> value, of each row of a subtask with all key groups or half."""
        rows: dict[tuple[str, Any], dict[str, Any]] = {}
        for name, contents in self.contents.items():
            for place, value in contents.items():
                rows.setdefault(place, {})[name] = value
        return rows

    def heap_base(self, namespace: Layout, head: bytes) -> KeyGroupsHandle:
        entries = []
        for number, name in enumerate(NAMES):
            for (key, scope), value in self.contents[name].items():
                data = encoded(namespace, scope) + encoded(Text(), key)
                entries.append((group_of(key), number, data + encoded(STATES[name].layout, value)))
        return heap_base(head, len(NAMES), entries)

    def canonical_base(self, namespace: Layout, head: bytes) -> KeyGroupsHandle:
        entries = []
        for number, name in enumerate(NAMES):
            for (key, scope), value in self.contents[name].items():
                identity = entry_identity(key, scope, (Text(), namespace))
                if STATES[name].kind == "MAP":
                    for user_key, item in value.items():
                        data = identity + encoded(Text(), user_key)
                        of_entry = entry_value(NullableRest(Text()), item)
                        entries.append((group_of(key), number, data, of_entry))
                    continue
                layout = STATES[name].layout
                if isinstance(layout, Repeated):
                    layout = Delimited(layout.element)
                entries.append((group_of(key), number, identity, entry_value(layout, value)))
        return canonical_base(head, entries)


def entry_value(layout: Layout, value: Any) -> bytes:
    view = DataOutputView()
    EntryWriter(view).write(layout, value)
    return view.to_bytes()


KEYS = st.sampled_from(["", "a", "b", "key", "𝄞"])
TEXTS = st.text(max_size=3)
LISTS = st.lists(TEXTS, max_size=3)
MAPS = st.dictionaries(st.sampled_from("xyz"), st.none() | TEXTS, max_size=3)
LONGS = st.integers(-(2**63), 2**63 - 1)

PAYLOADS: dict[str, dict[Operation, st.SearchStrategy[Any]]] = {
    "value": {Operation.SET: LONGS},
    "list": {
        Operation.SET: LISTS,
        Operation.SET_INTERNAL: LISTS,
        Operation.ADD: LISTS,
        Operation.ADD_ELEMENT: TEXTS,
    },
    "map": {
        Operation.ADD: MAPS,
        Operation.ADD_ELEMENT: st.tuples(st.sampled_from("xyz"), st.none() | TEXTS),
        Operation.ADD_OR_UPDATE_ELEMENT: st.tuples(st.sampled_from("xyz"), st.none() | TEXTS),
        Operation.REMOVE_ELEMENT: st.sampled_from("xyz"),
    },
    "sum": {Operation.SET: LONGS, Operation.SET_INTERNAL: LONGS},
    "largest": {Operation.SET_INTERNAL: TEXTS},
}


@dataclass(frozen=True)
class Scope:
    """Namespaces of a job: none, windows of a fixed size, or names."""

    layout: Layout
    serializer: tuple[bytes, ...]
    table: str
    namespaces: tuple[Any, ...]


SCOPES = [
    Scope(VoidNamespace(), (), "keyed_state", (None,)),
    Scope(Long(), (LONG,), "window_state", (0, 1, 2)),
    Scope(Text(), (STRING,), "window_state", ("", "n", "nn")),
]


@st.composite
def steps_of(draw: st.DrawFn, scope: Scope, *, with_merges: bool = True) -> list[Step]:
    """Steps of a job, one after the other."""
    steps = []
    for _ in range(draw(st.integers(0, 25))):
        name = draw(st.sampled_from(NAMES))
        operations = {**PAYLOADS[name], Operation.CLEAR: st.none()}
        if len(scope.namespaces) > 1 and name != "value" and with_merges:
            others = st.sampled_from(scope.namespaces)
            operations[Operation.MERGE_NS] = st.lists(others, max_size=2, unique=True)
        operation = draw(st.sampled_from(list(operations)))
        namespace = draw(st.sampled_from(scope.namespaces))
        payload = draw(operations[operation])
        if operation is Operation.MERGE_NS:
            payload = [source for source in payload if source != namespace]
        steps.append(Step(name, operation, draw(KEYS), namespace, payload))
    return steps


@st.composite
def logged_jobs(
    draw: st.DrawFn, scope: Scope, form: str
) -> tuple[Job, tuple[KeyGroupsHandle, ...], list[Record]]:
    """A job, what it had materialized, and the records of what it did since.

    Args:
        draw: Of hypothesis.
        scope: That of its states.
        form: ``heap`` or canonical, or ``nothing`` if nothing was materialized.
    """
    job = Job()
    base: tuple[KeyGroupsHandle, ...] = ()
    if form != "nothing":
        job.do(draw(steps_of(scope, with_merges=False)))
        head = header(*infos(*scope.serializer or (VOID,)))
        made = job.heap_base if form == "heap" else job.canonical_base
        base = (made(scope.layout, head),)
    steps = draw(steps_of(scope))
    job.do(steps)
    return (
        job,
        base,
        [
            *registrations(*scope.serializer),
            *(step.record(scope.layout) for step in steps),
        ],
    )


def found_in(handle: ChangelogHandle, scope: Scope, **options: Any) -> dict[Any, dict[str, Any]]:
    """Key and namespace -> name -> value, of each row of a subtask with all key groups or half."""
    by_place: dict[Any, dict[str, Any]] = {}
    index = int(handle.key_groups.start > 0)
    parallelism = 1 if handle.key_groups == EVERYTHING else 2
    subtask = SubtaskState(index, managed_keyed_state=handle)
    operator = replace(operator_of(subtask), parallelism=parallelism)
    for row in rows(operator, scope.table, **options):
        place = row.pop("key"), row.pop("namespace", None)
        assert place not in by_place
        by_place[place] = {name: value for name, value in row.items() if value is not None}
        if "map" in by_place[place]:
            by_place[place]["map"] = dict(by_place[place]["map"])
    return by_place


TIMERS = timers_of(STRING, VOID)
PLAIN = SCOPES[0]


def plain_base(job: Job | None = None) -> KeyGroupsHandle:
    return (job or Job()).canonical_base(PLAIN.layout, header(*infos(VOID)))


def plain_rows(*records: Record, base: KeyGroupsHandle | None = None) -> dict[Any, Any]:
    """Content after changes of states of the base."""
    handle = changelog(in_memory([*registrations(), *records]), base=(base or plain_base(),))
    return found_in(handle, PLAIN)


def put(key: str, value: int) -> Record:
    return Step("value", Operation.SET, key, None, value).record(PLAIN.layout)
