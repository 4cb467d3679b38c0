"""Classes of the user: described by class files in archives and directories, by sources, or not at all.

Nothing is loaded, compiled or run. A class is searched for where Java does:
``com/acme/Order.class``, and in Spring's archives below ``BOOT-INF/classes``.

Descriptions are YAML, with known facts of each class as comments:

::

    # crates/crate: 30 values
    - class: shop.Parcel
      fields:
        id: long
        content: java.lang.String
      final: true
      pojo: false
    - class: shop.BigItem
      fields: {name: java.lang.String, marks: "java.util.List<java.lang.String>"}
      pojo: true
      extends: shop.Item
    - class: shop.Colour
      constants: [RED, GREEN]

A JSON list of the same is accepted, too.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from savepoint_database.types.java_sources import JavaSources
from savepoint_database.types.yaml_section import YamlSection, yaml_text
from savepoint_formats.bytes import DataInputView
from savepoint_formats.errors import DescriptionError
from savepoint_formats.java.class_file import ClassFile
from savepoint_formats.java.pojo_rules import extended, is_pojo
from savepoint_formats.printable import printable
from savepoint_formats.values import (
    UndescribableError,
    described_class,
    kryo_class,
    kryo_class_members,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from savepoint_formats.layout import KryoClass, KryoField, TypeArgument

    DescribedClasses = Iterable[KryoClass] | str | os.PathLike[str]
    """Results of ``kryo_class``, or the path of a file that describes classes."""


_FOLDERS = ("", "BOOT-INF/classes/")
_OF_OTHERS = ("java.", "javax.", "scala.", "org.apache.flink.")
"""Prefixes of classes that are known, or not a job's own."""

_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, NotImplementedError),
    *(RuntimeError, OSError, EOFError, ValueError),
)
"""Errors of a damaged archive."""

_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""With other compressions, a few bytes may demand gigabytes of memory."""

_LARGEST = 16 << 20
"""Bytes of the largest class file; Java itself limits the number of its members to 65,535."""


@dataclass(frozen=True, slots=True)
class ClassToDescribe:
    """A class of the user in values, whose fields are unknown.

    Attributes:
        class_name: Its full name.
        values: State (``operator/state``) -> number of values in which the class is the first
            unknown one. Nothing after it can be read.
        superclass: The POJO of which it is a subclass that no serializer describes; empty where Kryo
            wrote its objects.
        collections: Fields, as ``operator: state 'name': class.field``, whose elements a migration to
                Flink 2 must know; the class is then the POJO around them.
    """

    class_name: str
    values: Mapping[str, int]
    superclass: str = ""
    collections: tuple[str, ...] = ()

    @property
    def is_pojo(self) -> bool:
        """Whether the savepoint says that Flink takes it as a POJO."""
        return bool(self.superclass or self.collections)


@dataclass(frozen=True, slots=True)
class ClassLibrary:
    """Places of class files, and sources for classes without class files."""

    places: tuple[Path, ...]
    sources: JavaSources | None = None

    @classmethod
    def of(
        cls,
        places: Iterable[str | os.PathLike[str]],
        sources: Iterable[str | os.PathLike[str]] = (),
    ) -> ClassLibrary:
        """The library of archives, of directories of class files and of sources, or ``DescriptionError``."""
        paths, folders = tuple(map(Path, places)), tuple(map(Path, sources))
        for path in (*folders, *paths):
            if not path.exists():
                raise DescriptionError(f"{path} does not exist")
        for folder in folders:
            if not folder.is_dir():
                raise DescriptionError(f"{folder} is not a directory of source files")
        for path in paths:
            if not path.is_dir() and not zipfile.is_zipfile(path):
                raise DescriptionError(f"{path} is neither a jar nor a directory of class files")
        return cls(paths, JavaSources(folders) if folders else None)

    def class_file(self, name: str) -> ClassFile | None:
        """The class of a name with slashes; None if there is none.

        Raises ``UndescribableError`` if its source does not tell a type, or an error if it is damaged.
        """
        for place in self.places:
            for folder in _FOLDERS:
                data = _bytes(place, f"{folder}{name}.class")
                if data is not None:
                    return ClassFile.read(DataInputView(data, f"{place}/{name}.class"))
        return None if self.sources is None else self.sources.class_file(name)

    def described(self, class_names: Iterable[str]) -> tuple[KryoClass, ...]:
        """Classes that can be described, with the classes of their fields, by name.

        ``is_pojo`` is set where it is certain that Flink takes a class as a POJO. A class found in an
        object is less certain than the type of a field, because a collection may be declared with the
        superclass.
        """
        seen, declared, pending = set[str](), set[str](), list(class_names)
        described: dict[str, KryoClass] = {}
        while pending:
            name = pending.pop()
            if name in seen or name.startswith(_OF_OTHERS):
                continue
            seen.add(name)
            with suppress(UndescribableError):
                described[name] = described_class(name, self.class_file)
                fields = described[name].fields
                named = [inner for field in fields for inner in _named(field)]
                declared.update(named)
                pending += named
        return tuple(
            self._with_pojo(described[name], is_declared=name in declared)
            for name in sorted(described)
        )

    def _with_pojo(self, described: KryoClass, *, is_declared: bool) -> KryoClass:
        name = described.class_name.replace(".", "/")
        taken = None if described.constants else is_pojo(name, self.class_file)
        above = extended(name, self.class_file)
        if not taken or above is None or is_declared:
            return replace(described, is_pojo=taken)
        if is_pojo(above, self.class_file):
            return replace(described, is_pojo=True, superclass=above.replace("/", "."))
        return described

    def reason(self, class_name: str) -> str | None:
        """Why a class can't be described; None if it can."""
        try:
            described_class(class_name, self.class_file)
        except UndescribableError as error:
            return str(error)
        return None


def _named(declared: KryoField | TypeArgument) -> Iterator[str]:
    name = declared.type.lstrip("[")
    yield name[1:-1] if name.endswith(";") else name
    for argument in declared.arguments:
        yield from _named(argument)


def _bytes(place: Path, name: str) -> bytes | None:
    if place.is_dir():
        path = place / name
        if not path.is_file():
            return None
        _expect_small(path.stat().st_size, str(path))
        return path.read_bytes()
    try:
        with zipfile.ZipFile(place) as archive:
            if name not in archive.NameToInfo:
                return None
            entry = archive.getinfo(name)
            _expect_small(max(entry.file_size, entry.compress_size), f"{place}/{name}")
            if entry.compress_type not in _COMPRESSIONS:
                raise DescriptionError(f"{place}/{name} is not compressed like Java's own files")
            return archive.read(name)
    except _UNREADABLE as error:
        raise DescriptionError(f"{place} can't be read: {error}") from error


def _expect_small(size: int, name: str) -> None:
    if size > _LARGEST:
        raise DescriptionError(f"{name} has {size} bytes, too many for a class file")


_MEMBERS = ("class", "fields", "final", "constants", "pojo", "extends")
_PLAIN_NAME = re.compile(r"[A-Za-z_$][\w.$]*")
_TO_FILL_IN = "  fields: {}  # name: type, of all fields that are neither static nor transient"


def class_descriptions(path: str | os.PathLike[str]) -> tuple[KryoClass, ...]:
    """Classes that a file of YAML or JSON describes.

    Args:
        path: The file.

    Raises:
        DescriptionError: The file has a mistake; the message names the line.

    Example:
        >>> Savepoint.open("s3://jobs/savepoint-1a2b", kryo_classes=class_descriptions("classes.yaml"))
    """
    try:
        return described_classes(Path(path).read_text(encoding="utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        raise DescriptionError(f"{path} is not UTF-8 at byte {error.start}") from error


def described_classes(text: str, file: str) -> tuple[KryoClass, ...]:
    """Classes that a text describes. Raises ``DescriptionError`` for a mistake, with its line."""
    # JSON allows tabs for indentation; YAML doesn't.
    is_json = text.lstrip().startswith("[")
    sections = YamlSection.list_of_text(text.expandtabs() if is_json else text, file)
    classes = tuple(map(_class, sections))
    for index, section in enumerate(sections):
        if classes[index].class_name in (other.class_name for other in classes[:index]):
            raise section.error(f"{classes[index].class_name} is described twice", "class")
    return classes


def _class(section: YamlSection) -> KryoClass:
    section.expect_only(_MEMBERS)
    name, is_final = section.text("class"), section.flag("final")
    if "constants" in section.fields:
        if "fields" in section.fields:
            raise section.error("a class has fields or constants, not both", "fields")
        return kryo_class(name, constants=section.texts("constants"), is_final=is_final)
    fields = section.section("fields")
    types = {}
    for field in () if fields is None else fields.fields:
        assert fields is not None
        types[field] = fields.text(field)
        fields.parsed(field, lambda text, field=field: kryo_class(name, {field: text}))  # type: ignore[misc]  # the name of the moment
    return kryo_class(
        name,
        types,
        is_final=is_final,
        is_pojo=section.flag("pojo") if "pojo" in section.fields else None,
        superclass=section.text("extends") if "extends" in section.fields else "",
    )


def class_descriptions_text(
    described: Iterable[KryoClass],
    unknown: Iterable[ClassToDescribe] = (),
    reason: Callable[[str], str | None] | None = None,
) -> str:
    """Mirror of ``described_classes``: known classes, then classes to fill in.

    ``reason`` tells for the name of a class why class files did not describe it.
    """
    missing = {named.class_name: named for named in unknown}
    known = [
        _described(description, missing.pop(description.class_name, None))
        for description in described
    ]
    return "\n".join([*known, *(_to_fill_in(named, reason) for named in missing.values())]) or "[]"


def _described(described: KryoClass, unknown: ClassToDescribe | None) -> str:
    """A description, with comments on what it still lacks."""
    text = yaml_text([kryo_class_members(described)], width=100)
    lacks = [] if unknown is None else _places(unknown)
    if unknown is not None and unknown.superclass:
        lacks.append(_comment(f"extends: {unknown.superclass}"))
    return "\n".join([*lacks, text.rstrip("\n")])


def _places(unknown: ClassToDescribe) -> list[str]:
    places = [f"{place}: {count} values" for place, count in unknown.values.items()]
    of_what = (f"{place}: the types of its elements are unknown" for place in unknown.collections)
    return [_comment(text) for text in (*places, *of_what)]


def _comment(text: str) -> str:
    """A comment of one line: behind a line break, a name of the savepoint would be a description."""
    return f"# {printable(text)}"


def _scalar(name: str) -> str:
    """The name of a class as YAML."""
    return name if _PLAIN_NAME.fullmatch(name) else yaml_text(name, default_style='"').rstrip("\n")


def _to_fill_in(unknown: ClassToDescribe, reason: Callable[[str], str | None] | None) -> str:
    places = _places(unknown)
    if reason is not None and (why := reason(unknown.class_name)) is not None:
        places.append(_comment(why))
    lines = [*places, f"- class: {_scalar(unknown.class_name)}", _TO_FILL_IN]
    if unknown.is_pojo:
        lines.append("  pojo: true")
    if unknown.superclass:
        lines.append(f"  extends: {_scalar(unknown.superclass)}")
    return "\n".join(lines)
