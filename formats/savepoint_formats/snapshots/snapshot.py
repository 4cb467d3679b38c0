"""Serializer snapshots: Flink's descriptions of serializers, as a tree that can be written back.

| bytes | field      | meaning                                                              |
|-------|------------|----------------------------------------------------------------------|
| utf   | class_name | of the snapshot; inner classes with ``$``                            |
| i32   | version    | of the body                                                          |
| …     | body       | by class and version; it has **no** length                           |

In the header of a state file, an i32 version comes first: 2. Up to Flink 1.6 it was 1, and the
class name of the serializer followed.

Kinds of snapshots register in a table from class name to ``SnapshotKind``: the fields of the body,
and their layout. An unknown class or version can only be read if the size of its body is known; see
``resynchronised``.

Flink: ``TypeSerializerSnapshot``, ``TypeSerializerSnapshotSerializationUtil``, ``CompositeTypeSerializerSnapshot``,
``NestedSerializersSnapshotDelegate``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from savepoint_formats.bytes.codecs import Codec
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import (
    MissingPackageError,
    UnknownSnapshotError,
    UnsupportedVersionError,
)
from savepoint_formats.layout import Layout, Opaque
from savepoint_formats.snapshots.fields import codec_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from savepoint_formats.bytes.data_view import DataOutputView
    from savepoint_formats.snapshots.fields import Field


VERSION = 2

COMPOSITE_MAGIC = 911108
NESTED_MAGIC = 1333245
_NESTED_VERSION = 1
COMPOSITE_START = COMPOSITE_MAGIC.to_bytes(4, "big")
NESTED_START = NESTED_MAGIC.to_bytes(4, "big") + _NESTED_VERSION.to_bytes(4, "big")
_OLDEST_COMPOSITE = 3

_MAX_DEPTH = 50
_NAME = r"(?!\d)[\w$-]+"
CLASS_NAME = re.compile(rf"{_NAME}(\.{_NAME})*")

ValueT = TypeVar("ValueT")


class SnapshotView(DataInputView):
    """A view that knows the sizes of bodies of unknown classes, by offset.

    ``depth`` is the number of snapshots around the position. ``known`` and ``passed`` map a
    position to the value that an earlier attempt, or this view, read there, and to its end.
    ``of_plug_ins`` are the classes read by kinds of plug-ins; ``distrusted`` maps such classes to the
    reason why they count as unknown.
    """

    __slots__ = ("depth", "distrusted", "known", "of_plug_ins", "opaque_sizes", "passed")

    def __init__(
        self, buffer: bytes | memoryview, path: str = "<bytes>", base: int = 0, depth: int = 0
    ) -> None:
        super().__init__(buffer, path, base)
        self.depth = depth
        self.opaque_sizes: Mapping[int, int] = {}
        self.known: Mapping[int, tuple[Any, int]] = {}
        self.passed: dict[int, tuple[Any, int]] = {}
        self.of_plug_ins: set[str] = set()
        self.distrusted: Mapping[str, str] = {}

    @property
    def is_guessed(self) -> bool:
        """Whether some size is a guess, and values may therefore be misread."""
        return bool(self.opaque_sizes)

    def once(self, read: Callable[[SnapshotView], ValueT]) -> ValueT:
        """Reads the next value, unless an earlier attempt has read it."""
        start = self.position
        if start in self.known:
            value, self.position = self.known[start]
        else:
            value = read(self)
        self.passed[start] = value, self.position
        return value  # type: ignore[no-any-return]  # one reader reads what is at a position


@dataclass(frozen=True, slots=True)
class TypeSerializerSnapshot:
    """A snapshot, as the fields of its body; nested snapshots are among their values.

    ``shown`` has knowledge about the layout that no savepoint stores; see module ``shown``.
    """

    class_name: str
    version: int
    values: tuple[Any, ...] = ()
    names: tuple[str, ...] = ()
    shown: Callable[[Layout], Layout] | None = field(default=None, compare=False)

    def __getitem__(self, name: str) -> Any:
        return self.values[self.names.index(name)]

    @property
    def nested(self) -> tuple[TypeSerializerSnapshot, ...]:
        """Snapshots of the nested serializers."""
        return self["nested"] if "nested" in self.names else ()

    @property
    def outer_version(self) -> int:
        """The version of a composite's own part."""
        return int(self["outer_version"]) if "outer_version" in self.names else self.version

    def with_fields(self, **values: object) -> Self:
        """The snapshot with other values of fields of its body."""
        pairs = zip(self.names, self.values, strict=True)
        return replace(self, values=tuple(values.get(name, value) for name, value in pairs))

    def nested_layouts(self) -> tuple[Layout, ...]:
        """Layouts of the nested serializers."""
        return tuple(snapshot.layout() for snapshot in self.nested)

    def layout(self) -> Layout:
        """The layout of this serializer's values."""
        return self.stored_layout() if self.shown is None else self.shown(self.stored_layout())

    def stored_layout(self) -> Layout:
        """The layout, by the snapshot alone."""
        return known_kind(self.class_name).layout(self)

    @classmethod
    def read(cls, view: SnapshotView) -> TypeSerializerSnapshot:
        """Raises ``UnknownSnapshotError`` if the size is unknown, and the class or version too."""
        class_name = read_class_name(view)
        version = view.read_int()
        if view.depth > _MAX_DEPTH:
            raise view.error(f"serializer snapshots nest deeper than {_MAX_DEPTH}")
        kind = None if class_name in view.distrusted else kind_of(class_name)
        if kind is None:
            reason = view.distrusted.get(class_name) or why_unknown(class_name)
            return OpaqueSnapshot.read_body(class_name, version, view, reason)
        if class_name not in KINDS:
            view.of_plug_ins.add(class_name)
        outer_version = kind.outer_version(version, view)
        if not kind.knows(version, outer_version):
            reason = kind.unknown_version(version, outer_version)
            return OpaqueSnapshot.read_body(class_name, version, view, reason)
        fields = kind.fields(version, outer_version)
        values: list[Any] = []
        view.depth += 1
        for part in fields:  # no comprehension: it would double the depth of the stack
            values.append(view.once(codec_of(part, values).read))
        view.depth -= 1
        snapshot = cls(class_name, version, tuple(values), tuple(name for name, _ in fields))
        kind.check(snapshot, view)
        return snapshot

    def write(self, view: DataOutputView) -> None:
        view.write_utf(self.class_name)
        view.write_int(self.version)
        self.write_body(view)

    def write_body(self, view: DataOutputView) -> None:
        fields = known_kind(self.class_name).fields(self.version, self.outer_version)
        for index, (part, value) in enumerate(zip(fields, self.values, strict=True)):
            codec_of(part, self.values[:index]).write(view, value)


@dataclass(frozen=True, slots=True)
class OpaqueSnapshot(TypeSerializerSnapshot):
    """A snapshot of an unknown class or version: its bytes, and the reason.

    Bytes that begin like those of a composite also end like them: with nested snapshots.
    """

    body: bytes = b""
    reason: str = ""

    @classmethod
    def read_body(cls, class_name: str, version: int, view: SnapshotView, reason: str) -> Self:
        """Raises ``UnknownSnapshotError`` if the size of the body is not known."""
        start = view.position
        is_composite = bytes(view.buffer[start : start + 4]) == COMPOSITE_START
        if is_composite:
            _read_composite_version(view)
        if view.offset not in view.opaque_sizes:
            raise UnknownSnapshotError(
                f"serializer snapshot {class_name} of version {version}: {reason}",
                view.path,
                view.offset,
                class_name,
            )
        view.read_bytes(view.opaque_sizes[view.offset])
        if is_composite:
            view.depth += 1
            _read_nested(view)
            view.depth -= 1
        body = bytes(view.buffer[start : view.position])
        return cls(class_name, version, body=body, reason=reason)

    def stored_layout(self) -> Layout:
        return Opaque(self.class_name, self.reason)

    def write_body(self, view: DataOutputView) -> None:
        view.write_bytes(self.body)


NO_FIELDS: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class SnapshotKind:
    """The body of a snapshot class, and its layout.

    ``body`` gives the fields by version; for a composite, the fields of its own part by outer
    version. ``newest_outer`` is the newest known outer version. ``parts`` is the number of nested
    serializers; None for any number.
    """

    layout: Callable[[TypeSerializerSnapshot], Layout]
    body: Callable[[int], tuple[Field, ...]] = lambda _version: NO_FIELDS
    versions: range = range(1, 4)
    is_composite: bool = False
    newest_outer: int = 2
    parts: int | None = None

    def outer_version(self, version: int, view: SnapshotView) -> int:
        """The version of a composite's own part, which stays unread; otherwise ``version``."""
        if not self.is_composite or version < _OLDEST_COMPOSITE or version not in self.versions:
            return version
        start = view.position
        outer_version = _read_composite_version(view)
        view.position = start
        return outer_version

    def knows(self, version: int, outer_version: int) -> bool:
        """Whether a body of these versions can be read."""
        is_known_outer = not self.is_composite or 0 <= outer_version <= self.newest_outer
        return version in self.versions and is_known_outer

    def unknown_version(self, version: int, outer_version: int) -> str:
        """Why a body of these versions can't be read."""
        known = self.versions[-1]
        shown = f"{version}.{outer_version}" if self.is_composite else str(version)
        is_newer = version > known or (self.is_composite and outer_version > self.newest_outer)
        newer = ", but a newer Flink's" if is_newer else ""
        return f"version {shown} of its class is not known{newer}"

    def fields(self, version: int, outer_version: int) -> tuple[Field, ...]:
        """All fields of the body."""
        if not self.is_composite:
            return self.body(version)
        head = _COMPOSITE_HEAD if version >= _OLDEST_COMPOSITE else _LEGACY_HEAD
        return (*head, *self.body(outer_version), ("nested", NESTED))

    def check(self, snapshot: TypeSerializerSnapshot, view: SnapshotView) -> None:
        """Raises ``FormatError`` if the number of nested serializers is wrong."""
        count = len(snapshot.nested)
        if self.parts is not None and count != self.parts:
            raise view.error(
                f"{snapshot.class_name} with {count} nested serializers, expected {self.parts}"
            )


def read_class_name(view: SnapshotView) -> str:
    """The class name at the beginning of a snapshot. Raises ``FormatError`` for other texts."""
    name = view.read_utf()
    # A name without a package is more likely a wrong guess than a class.
    is_likely = "." in name or not view.is_guessed
    if not CLASS_NAME.fullmatch(name) or not is_likely:
        raise view.error(f"{name!r} is no name of a Java class")
    return name


def _read_magic(view: DataInputView, magic: int) -> int:
    number = view.read_int()
    if number != magic:
        view.position -= 4
        raise view.error(f"{number} where a serializer snapshot has {magic}")
    return number


def _read_composite_version(view: SnapshotView) -> int:
    _read_magic(view, COMPOSITE_MAGIC)
    return view.read_int()


def _write_composite_version(view: DataOutputView, version: int) -> None:
    view.write_int(COMPOSITE_MAGIC)
    view.write_int(version)


def _read_nested(view: SnapshotView) -> tuple[TypeSerializerSnapshot, ...]:
    """i32 magic, i32 version, i32 count, then each snapshot."""
    _read_magic(view, NESTED_MAGIC)
    version = view.read_int()
    if version != _NESTED_VERSION:
        raise view.error(f"nested serializers of version {version}, expected {_NESTED_VERSION}")
    nested: list[TypeSerializerSnapshot] = []
    for _ in range(view.read_count(element_size=6)):
        nested.append(view.once(TypeSerializerSnapshot.read))  # as above
    return tuple(nested)


def _write_nested(view: DataOutputView, nested: tuple[TypeSerializerSnapshot, ...]) -> None:
    view.write_int(NESTED_MAGIC)
    view.write_int(_NESTED_VERSION)
    view.write_int(len(nested))
    for snapshot in nested:
        snapshot.write(view)


NESTED = Codec(_read_nested, _write_nested)
SNAPSHOT = Codec(TypeSerializerSnapshot.read, lambda view, snapshot: snapshot.write(view))


def read_serializer(view: SnapshotView) -> TypeSerializerSnapshot:
    """A serializer in a header. Raises ``UnsupportedVersionError`` for one of Flink 1.6 or older."""
    _read_version(view)
    return TypeSerializerSnapshot.read(view)


def write_serializer(view: DataOutputView, snapshot: TypeSerializerSnapshot) -> None:
    """The mirror of ``read_serializer``."""
    view.write_int(VERSION)
    snapshot.write(view)


def expect_serializer(view: SnapshotView) -> None:
    """Raises ``FormatError`` if no serializer begins here; it may be unknown."""
    _read_version(view)
    read_class_name(view)


def _read_version(view: SnapshotView) -> None:
    version = view.peek_int()
    if version != VERSION:
        raise view.error(
            f"a serializer entry of version {version}, expected {VERSION}: restore and save"
            " it with Flink 1.7 to 1.20 first",
            UnsupportedVersionError,
        )
    view.read_int()


SERIALIZER = Codec(read_serializer, write_serializer)

_COMPOSITE_HEAD: tuple[Field, ...] = (
    ("outer_version", Codec(_read_composite_version, _write_composite_version)),
)
# Before Flink 1.8 the body's version was the outer version, and the own part came first.
_LEGACY_HEAD: tuple[Field, ...] = ()

KINDS: dict[str, SnapshotKind] = {}
"""Snapshot class -> its kind; filled by the modules that know the classes."""


def register(kinds: Mapping[str, SnapshotKind]) -> None:
    """Adds kinds to the table."""
    KINDS.update(kinds)


def kind_of(class_name: str) -> SnapshotKind | None:
    """The kind of a snapshot class, also of a plug-in's; None if nobody knows it.

    Plug-ins are looked for only if the table does not have the class.
    """
    known = KINDS.get(class_name)
    if known is not None:
        return known
    from savepoint_formats.snapshots.plug_in_kinds import plug_in_kind  # noqa: PLC0415

    return plug_in_kind(class_name)


def why_unknown(class_name: str) -> str:
    """Why a class has no kind."""
    from savepoint_formats.snapshots.plug_in_kinds import refusal  # noqa: PLC0415  # as above

    return refusal(class_name) or "its class is not known"


def known_kind(class_name: str) -> SnapshotKind:
    """The kind of a snapshot that was read. Raises ``MissingPackageError`` if it is not known here."""
    kind = kind_of(class_name)
    if kind is None:
        raise MissingPackageError(
            f"serializer snapshot {class_name}: its plug-in is not installed here, or is off:"
            " install it on every machine that runs tasks"
        )
    return kind
