"""Timers as raw keyed state: where a job keeps its timers on the heap beside a RocksDB backend.

A raw section of a key group begins with a marker if it holds timers; any other content is known to
its operator alone. The serializers are there once more in each section.

| bytes    | field      | meaning                                                              |
|----------|------------|----------------------------------------------------------------------|
| 4 bytes  |            | marker ``F1 CD 85 9F``                                               |
| i32      |            | version, 2 (Flink 1.8 and later)                                     |
| i32      | services   | number of timer services                                             |
| utf      | name       | of the service, ``user-timers`` for one                              |
| …, …     |            | snapshots of the key's and of the namespace's serializer             |
| i32, …   | event      | number of event timers, timers                                       |
| i32, …   | processing | number of processing timers, timers                                  |

A timer is key, namespace, i64 timestamp: not in the order in which managed timers have them, and
without a flipped sign. Where the serializers are not known nobody can tell where a timer ends, nor
what follows it: such sections are shown as their bytes.

Flink: ``InternalTimerServiceSerializationProxy``, ``InternalTimersSnapshotReaderWriters``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar

from savepoint_formats.errors import (
    FormatError,
    UndecodableError,
    UnknownSnapshotError,
    UnsupportedVersionError,
)
from savepoint_formats.layout import (
    Layout,
    Long,
    Struct,
    TimerTimestamp,
    opaque_parts,
    timer_namespace,
    with_kryo_classes,
)
from savepoint_formats.locations.stored_object import MAX_KEPT_SIZE
from savepoint_formats.metadata.references import FileKind
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot, constructed
from savepoint_formats.state_files.header import StateMetaInfo
from savepoint_formats.state_files.recognition import expect_kind
from savepoint_formats.state_files.sections import NOTHING_WRITTEN_RAW, sections_of
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.values.values import ValueReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_formats.layout import KryoClass
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.metadata import KeyGroupsHandle, PlainStream
    from savepoint_formats.state_files.sections import Section
    from savepoint_formats.values.kryo.dialect import KryoDialect

MARKER = bytes.fromhex("f1cd859f")
VERSION = 2

DOMAINS = ("event", "processing")
"""The queues of a service, in the order of the file; managed timers call them so, too."""

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
    def read(cls, view: SnapshotView, classes: tuple[KryoClass, ...] = ()) -> Self:
        """Raises ``UnknownSnapshotError`` for a serializer that is not known."""
        name = view.read_utf()
        key, namespace = TypeSerializerSnapshot.read(view), TypeSerializerSnapshot.read(view)
        layouts = with_kryo_classes((key.layout(), namespace.layout()), classes)
        return cls(name, *layouts, (key, namespace))

    @property
    def timer(self) -> Struct:
        """The layout of a timer."""
        return Struct(("key", "namespace", "timestamp"), (self.key, self.namespace, Long()))

    def state_name(self, domain: str) -> str:
        """What the queue of a domain is called where timers are managed state."""
        return f"{TIMER_STATE_PREFIX}{domain}_{self.name}"

    def queue(self, domain: str) -> State:
        """The managed state that the queue of a domain would be elsewhere."""
        names = ("timestamp", "key", "namespace")
        timer = Struct(names, (TimerTimestamp(), self.key, self.namespace))
        name = self.state_name(domain)
        return State(name, StateKind.TIMERS, timer, self.key, timer_namespace(timer))


def raw_file(directory: SnapshotDirectory, stream: PlainStream) -> StateFile:
    """The file of a handle of raw state.

    Raises:
        WrongFileError: It may be any file of the machine; see ``recognition``.
    """
    file = directory.file(stream, head=MAX_KEPT_SIZE)
    expect_kind(file, FileKind.RAW)
    return file


def first_section(file: StateFile, handle: KeyGroupsHandle) -> tuple[Section, bytes] | None:
    """The first key group of which anything is written: what it holds, all others hold, too.

    Raises:
        StateFileNotFoundError: The file is gone.
        FormatError: An offset lies outside the file.
    """
    for section in sections_of(handle.groups, file, handle.key_groups, NOTHING_WRITTEN_RAW):
        if section.size:
            return section, file.read(section.start, section.end)
    return None


def has_timers(data: bytes) -> bool:
    """Whether the section of a key group, or what there is of it, holds timers."""
    return bool(data) and MARKER.startswith(data[: len(MARKER)])


def read_timers(
    data: bytes,
    path: str,
    section: Section,
    read: Callable[[TimerService, SnapshotView, int], TimersT],
    kryo: KryoDialect | None = None,
) -> Iterator[tuple[TimerService, str, TimersT]]:
    """The queues of a section: service, domain, and timers.

    Args:
        data: The section.
        path: The file that it is from.
        section: Where it lies in the file.
        read: Reads so many timers of a service from a view.
        kryo: What is known of the Kryo that wrote object graphs.

    Raises:
        FormatError: The section is damaged.
        UndecodableError: Nobody can tell where a timer ends.
        UnknownSnapshotError: Or where a serializer does.
    """
    view = SnapshotView(data, path, section.start)
    _read_version(view)
    for _ in range(view.read_count(_LEAST_SERVICE_SIZE)):
        service = TimerService.read(view, kryo.classes if kryo else ())
        for domain in DOMAINS:
            count = view.read_count()
            _check(service, count, view)
            yield service, domain, read(service, view, count)
    view.expect_end()


@dataclass(frozen=True, slots=True)
class TimerServices:
    """What the section of a key group tells of its timers.

    Attributes:
        services: The services whose timers can be read.
        problem: Why other timers cannot be read, if so.
    """

    services: tuple[TimerService, ...]
    problem: str = ""

    @classmethod
    def of(cls, data: bytes, path: str, section: Section, kryo: KryoDialect | None) -> Self:
        """Raises ``FormatError`` if the section is damaged."""
        services: dict[str, TimerService] = {}
        problem = ""
        try:
            for service, _, _ in read_timers(data, path, section, skip_timers(kryo), kryo):
                if opaque := next(opaque_parts(service.timer), None):
                    problem = problem or f"timers {service.name!r}: {opaque.note}"
                else:
                    services[service.name] = service
        except (UndecodableError, UnknownSnapshotError) as error:
            problem = error.message
        return cls(tuple(services.values()), problem)


def raw_timer_infos(
    directory: SnapshotDirectory, handle: KeyGroupsHandle, kryo: KryoDialect | None = None
) -> tuple[StateMetaInfo, ...]:
    """The queues that the timers of raw keyed state become, as a header has them.

    Nothing if there are no timers.

    Raises:
        StateFileNotFoundError: The file is gone.
        FormatError: Its first section is damaged.
    """
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
    """Passes by timers, one by one."""

    def skip(service: TimerService, view: SnapshotView, count: int) -> None:
        reader = ValueReader(view, kryo)
        for _ in range(count):
            reader.read(service.timer)
            if reader.is_lost:
                message = f"timers {service.name!r} cannot be read: {reader.reason}"
                raise view.error(message, UndecodableError)

    return skip


def _read_version(view: SnapshotView) -> None:
    marker = view.read_bytes(len(MARKER))
    if marker != MARKER:
        raise FormatError(f"timers that begin with {marker.hex(' ')}", view.path, view.base)
    version = view.read_int()
    if version != VERSION:
        view.position -= 4
        message = f"timers of version {version}, expected {VERSION}"
        raise view.error(message, UnsupportedVersionError)


def _check(service: TimerService, count: int, view: SnapshotView) -> None:
    for part in opaque_parts(service.timer) if count else ():
        message = f"timers {service.name!r} have values of {part.class_name}: {part.reason}"
        raise view.error(message, UndecodableError)
