"""Timers as raw keyed state, which jobs keep on the heap beside a RocksDB backend.

A raw section of a key group begins with a marker if it holds timers; only its operator knows any
other content. Each section repeats the serializers.

| bytes    | field      | meaning                                                              |
|----------|------------|----------------------------------------------------------------------|
| 4 bytes  |            | marker ``F1 CD 85 9F``                                               |
| i32      |            | version, 2 (Flink 1.8 and later)                                     |
| i32      | services   | number of timer services                                             |
| utf      | name       | of the service, ``user-timers`` for one                              |
| …, …     |            | snapshots of the key's and of the namespace's serializer             |
| i32, …   | event      | number of event timers, timers                                       |
| i32, …   | processing | number of processing timers, timers                                  |

A timer is key, namespace, i64 timestamp. Managed timers have another order and a flipped sign.
With unknown serializers, the end of a timer and all behind it are unknown: such sections are
shown as bytes.

Flink: ``InternalTimerServiceSerializationProxy``, ``InternalTimersSnapshotReaderWriters``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar

from savepoint_formats import layout as layouts
from savepoint_formats.errors import (
    FormatError,
    UndecodableError,
    UnknownSnapshotError,
    UnsupportedVersionError,
)
from savepoint_formats.layout import Layout, Opaque, nodes_of, timer_namespace, with_kryo_classes
from savepoint_formats.locations.stored_object import MAX_KEPT_SIZE
from savepoint_formats.metadata.references import FileKind
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot, constructed
from savepoint_formats.state_files.canonical_file import NOTHING_WRITTEN_RAW, sections_of
from savepoint_formats.state_files.header import StateMetaInfo
from savepoint_formats.state_files.recognition import expect_kind
from savepoint_formats.state_files.state import State, StateKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.metadata import KeyGroupsHandle, PlainStream
    from savepoint_formats.state_files.canonical_file import Section
    from savepoint_formats.values.kryo.dialect import KryoDialect

MARKER = bytes.fromhex("f1cd859f")
VERSION = 2

DOMAINS = ("event", "processing")
"""Queues of a service, in the order of the file, with the names of managed timers."""

TIMER_STATE_PREFIX = "_timer_state/"

_LEAST_SERVICE_SIZE = 22

TimersT = TypeVar("TimersT")


@dataclass(frozen=True, slots=True)
class TimerService:
    """A timer service: its name, and the layouts and serializers of keys and namespaces."""

    name: str
    key: Layout
    namespace: Layout
    serializers: tuple[TypeSerializerSnapshot, TypeSerializerSnapshot]

    @classmethod
    def read(cls, view: SnapshotView, classes: tuple[layouts.KryoClass, ...] = ()) -> Self:
        """Raises ``UnknownSnapshotError`` for an unknown serializer."""
        name = view.read_utf()
        key, namespace = TypeSerializerSnapshot.read(view), TypeSerializerSnapshot.read(view)
        both = with_kryo_classes((key.layout(), namespace.layout()), classes)
        return cls(name, *both, (key, namespace))

    @property
    def timer(self) -> layouts.Struct:
        return layouts.Struct(
            ("key", "namespace", "timestamp"), (self.key, self.namespace, layouts.Long())
        )

    def state_name(self, domain: str) -> str:
        """Name of a domain's queue as managed state."""
        return f"{TIMER_STATE_PREFIX}{domain}_{self.name}"

    def queue(self, domain: str) -> State:
        """A domain's queue as managed state."""
        names = ("timestamp", "key", "namespace")
        timer = layouts.Struct(names, (layouts.TimerTimestamp(), self.key, self.namespace))
        name = self.state_name(domain)
        return State(name, StateKind.TIMERS, timer, self.key, timer_namespace(timer))


def raw_file(directory: SnapshotDirectory, stream: PlainStream) -> StateFile:
    """File of raw state; raises ``WrongFileError`` outside of the savepoint's directories."""
    file = directory.file(stream, head=MAX_KEPT_SIZE)
    expect_kind(file, FileKind.RAW)
    return file


def first_section(file: StateFile, handle: KeyGroupsHandle) -> tuple[Section, bytes] | None:
    """First key group with bytes; all others hold the same kind of state."""
    for section in sections_of(handle.groups, file, handle.key_groups, NOTHING_WRITTEN_RAW):
        if section.size:
            return section, file.read(section.start, section.end)
    return None


def has_timers(data: bytes) -> bool:
    """Whether the section of a key group holds timers; ``data`` may be its start alone."""
    return bool(data) and MARKER.startswith(data[: len(MARKER)])


def read_timers(
    data: bytes,
    path: str,
    section: Section,
    read: Callable[[TimerService, SnapshotView, int], TimersT],
    kryo: KryoDialect | None = None,
) -> Iterator[tuple[TimerService, str, TimersT]]:
    """Queues of a section: service, domain, and the timers that ``read`` returns."""
    view = SnapshotView(data, path, section.start)
    marker = view.read_bytes(len(MARKER))
    if marker != MARKER:
        raise FormatError(f"timers that begin with {marker.hex(' ')}", path, section.start)
    version = view.read_int()
    if version != VERSION:
        view.position -= 4
        message = f"timers of version {version}, expected {VERSION}"
        raise view.error(message, UnsupportedVersionError)
    for _ in range(view.read_count(_LEAST_SERVICE_SIZE)):
        service = TimerService.read(view, kryo.classes if kryo else ())
        for domain in DOMAINS:
            count = view.read_count()
            for opaque in nodes_of(service.timer, Opaque) if count else ():
                message = f"timers {service.name!r} have values of {opaque.class_name}: "
                raise view.error(message + opaque.reason, UndecodableError)
            yield service, domain, read(service, view, count)
    view.expect_end()


@dataclass(frozen=True, slots=True)
class TimerServices:
    """Services of a key group whose timers can be read, and why others can't be."""

    services: tuple[TimerService, ...]
    problem: str = ""

    @classmethod
    def of(cls, data: bytes, path: str, section: Section, kryo: KryoDialect | None) -> Self:
        """Raises ``FormatError`` if the section is damaged."""
        services: dict[str, TimerService] = {}
        problem = ""
        try:
            for service, _, _ in read_timers(data, path, section, skip_timers(kryo), kryo):
                if opaque := next(nodes_of(service.timer, Opaque), None):
                    problem = problem or f"timers {service.name!r}: {opaque.note}"
                else:
                    services[service.name] = service
        except (UndecodableError, UnknownSnapshotError) as error:
            problem = error.message
        return cls(tuple(services.values()), problem)


def raw_timer_infos(
    directory: SnapshotDirectory, handle: KeyGroupsHandle, kryo: KryoDialect | None = None
) -> tuple[StateMetaInfo, ...]:
    """Meta infos of the managed queues that these timers become; empty without timers."""
    file = raw_file(directory, handle.stream)
    first = first_section(file, handle)
    if first is None or not has_timers(first[1]):
        return ()
    section, data = first
    return tuple(
        StateMetaInfo.of_timers(service.state_name(domain), constructed.timer(*service.serializers))
        for service in TimerServices.of(data, file.path, section, kryo).services
        for domain in DOMAINS
    )


def skip_timers(
    kryo: KryoDialect | None = None,
) -> Callable[[TimerService, SnapshotView, int], None]:
    """Returns a function that passes timers one by one."""
    from savepoint_formats.values.values import ValueReader  # noqa: PLC0415  # headers need no values

    def skip(service: TimerService, view: SnapshotView, count: int) -> None:
        reader = ValueReader(view, kryo)
        for _ in range(count):
            reader.read(service.timer)
            if reader.is_lost:
                message = f"timers {service.name!r} cannot be read: {reader.reason}"
                raise view.error(message, UndecodableError)

    return skip
