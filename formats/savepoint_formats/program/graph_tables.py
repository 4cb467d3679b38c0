"""Tables of the content of Kryo's objects, which the kernel passes over: see ``any_graphs``."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.layout import KryoClass, KryoField
from savepoint_formats.program.kernel import GRAPH_SIZE, POWERS, Graphs, powers_of_ten
from savepoint_formats.program.kernel.kryo import any_graphs as kinds
from savepoint_formats.program.kernel.kryo.kryo_objects import (
    ARRAY,
    CLASS_SIZE,
    CLASSED_LIST,
    FINAL,
    LIST,
    MAP,
    SHOWN,
    SINGLE,
    SORTED,
    TRACKED,
    WITHOUT_NULL,
)
from savepoint_formats.program.kryo_singles import SINGLES
from savepoint_formats.values.kryo.body import PRIMITIVES, Part, Shown, object_front
from savepoint_formats.values.kryo.classes import CODES, WRAPPERS
from savepoint_formats.values.kryo.collections import LIST_FORMS, MAP_FORMS, SINGLE_ENTRIES
from savepoint_formats.values.kryo.known_classes import (
    CLASSES,
    JAVA_SERIALIZED,
    KnownClasses,
    described_body,
    known_body,
    known_classes,
    registered_body,
)
from savepoint_formats.values.kryo.lists import array_body, final_class, inner_arguments
from savepoint_formats.values.kryo.output import KryoOutput
from savepoint_formats.values.kryo.plain_classes import PLAIN_CLASSES
from savepoint_formats.values.kryo.scala import SCALA_CLASSES
from savepoint_formats.values.kryo.structs import OPTIONAL

if TYPE_CHECKING:
    import numpy.typing as npt

    from savepoint_formats.layout import Kryo
    from savepoint_formats.values.kryo.dialect import KryoDialect
    from savepoint_formats.values.kryo.graph import Arguments

_FIRST_NUMBER = 2
_NONE = -1
_ARRAYS_LIST = "java.util.Arrays$ArrayList"
_CODES = {code: name for code, name in CODES.items() if code != "B"}
_BYTES = "[B"
_BOXED = {primitive: wrapper for wrapper, primitive in WRAPPERS.items()}
_BYTES_BODY = replace(array_body(_BYTES), shown=Shown((("", Part.HEX),)))


def _part_of(primitive: str) -> int:
    shown = PRIMITIVES[primitive].shown
    assert shown is not None  # all primitives have one
    return int(shown.parts[0][1])


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


@dataclass(frozen=True, slots=True, eq=False)
class _Classes:
    """The classes of a layout.

    Attributes:
        names: The bytes of all names, and of all texts.
        classes: Eight numbers per class, see ``kryo_objects``; the name is a position in ``names``.
        parts: See ``any_graphs``, as the rest.
        fields: See there.
        arguments: See there.
        texts: Likewise positions and sizes.
    """

    names: npt.NDArray[np.uint8]
    classes: npt.NDArray[np.int64]
    parts: npt.NDArray[np.int64]
    fields: npt.NDArray[np.int64]
    arguments: npt.NDArray[np.int64]
    texts: npt.NDArray[np.int64]

    def with_addresses(self) -> _Classes:
        """With addresses of names and texts; they are valid while this object lives."""
        classes, texts = self.classes.copy(), self.texts.copy()
        classes[:, 1] += self.names.ctypes.data
        texts[:, 0] += self.names.ctypes.data
        return replace(self, classes=classes, texts=texts)

    def addresses(self) -> tuple[int, ...]:
        """The row of this table: see ``kryo_objects``."""
        others = (self.parts, self.fields, self.arguments, self.texts)
        return (
            self.classes.ctypes.data,
            len(self.classes),
            *(table.ctypes.data for table in others),
        )


class TableMemory:
    """The tables of classes in memory; ``address`` is valid while this object lives."""

    def __init__(self, tables: tuple[_Classes, ...]) -> None:
        self._held = [table.with_addresses() for table in tables]
        self._rows = np.array([table.addresses() for table in self._held], np.int64)
        self.address = self._rows.ctypes.data


@dataclass(frozen=True, slots=True, eq=False)
class GraphClasses:
    """The classes of a program: a table per layout of its graphs."""

    tables: tuple[_Classes, ...]

    def name_size(self, table: int, number: int) -> int:
        """The bytes of the name of a class."""
        return int(self.tables[table].classes[number, 2])

    @property
    def most_classes(self) -> int:
        """The most classes of a layout."""
        return max(len(table.classes) for table in self.tables)


class GraphTables:
    """The unfinished tables of a program; ``known`` has the known classes of each layout."""

    def __init__(self) -> None:
        self.known: list[KnownClasses] = []
        self._tables: list[ClassTable] = []

    def number(self, layout: Kryo, dialect: KryoDialect) -> int:
        """The number of the table of a layout."""
        known = known_classes(layout, dialect)
        if known not in self.known:
            self.known.append(known)
            self._tables.append(ClassTable(known))
        return self.known.index(known)

    def table(self, number: int) -> ClassTable:
        """A table."""
        return self._tables[number]

    def class_name(self, number: int) -> str | None:
        """The class of a number; None if there are several layouts."""
        return self._tables[0].names[number] if len(self._tables) == 1 else None

    def finished(self) -> GraphClasses | None:
        """The tables; None without graphs."""
        tables = tuple(table.finished() for table in self._tables)
        return GraphClasses(tables) if tables else None


def is_unknown_class(name: str, known: KnownClasses) -> bool:
    """Whether the content of a class's objects is unknown."""
    return not (
        described_body(name, known)
        or known_body(name, known)
        or known.custom.get(name)
        or name in JAVA_SERIALIZED
    )


class ClassTable:
    """The unfinished table of a layout."""

    def __init__(self, known: KnownClasses) -> None:
        self.names: list[str] = []
        self._known = known
        self._numbers: dict[str, int] = {}
        self._leads: list[tuple[int, ...]] = []
        self._bytes = bytearray()
        self._parts: list[tuple[int, int]] = []
        self._fields: list[tuple[int, int, int]] = []
        self._arguments: dict[Arguments, int] = {(): 0}
        self._argument_rows: list[tuple[int, ...]] = [(0, _NONE, 0, _NONE, 0)]
        self._texts: dict[str, int] = {}
        self._text_rows: list[tuple[int, int]] = []
        self._has_all = False

    def add_all(self) -> None:
        """Adds all classes that may come by name or number, and the contents of their objects."""
        self._has_all = True

    def finished(self) -> _Classes:
        """The table."""
        contents: list[tuple[int, ...]] = []
        if self._has_all:
            for name in self._usual_names():
                self.number(name)
            while len(contents) < len(self.names):
                contents.append(self._shown(self.names[len(contents)]))
        rows = [
            (*lead[:3], lead[3] | content[0], *content[1:])
            for lead, content in zip_longest(self._leads, contents, fillvalue=(0,) * 5)
        ]
        return _Classes(
            np.frombuffer(bytes(self._bytes), np.uint8),
            *(
                np.array(part, np.int64).reshape(-1, size)
                for part, size in (
                    (rows, CLASS_SIZE // 8),
                    (self._parts, 2),
                    (self._fields, 3),
                    (self._argument_rows, 5),
                    (self._text_rows, 2),
                )
            ),
        )

    def _usual_names(self) -> list[str]:
        """Classes that may come by name or number; classes of the user come first."""
        known = self._known
        names = [*known.user]
        for described in known.user.values():
            names += [f"{described.class_name}${at + 1}" for at in range(len(described.constants))]
            names.append(f"[L{described.class_name};")
        names += ["java.util.ArrayList", "java.util.HashMap", *known.registered.values()]
        names += [_BYTES, *CLASSES, *PLAIN_CLASSES]
        names += [f"[{code}" for code in _CODES]
        names += [f"[L{name};" for name in ("java.lang.String", "java.lang.Object", *WRAPPERS)]
        return list(dict.fromkeys(names))

    def number(self, name: str) -> int:
        """The number of a class."""
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
            view = DataOutputView()
            KryoOutput(view, is_5=self._known.is_5).write_class_name(name)
            own = self._known.numbers.get(name, _NONE - _FIRST_NUMBER) + _FIRST_NUMBER
            kind = TRACKED if self._known.has_references(name) else 0
            if name in SINGLES or self._known.is_enum(name) or name == _BYTES:
                kind |= SINGLE
            self._leads.append((own, *self._stored(view.to_bytes()), kind))
        return self._numbers[name]

    def _stored(self, data: bytes) -> tuple[int, int]:
        """Place and number of bytes."""
        self._bytes += data
        return len(self._bytes) - len(data), len(data)

    def _text(self, text: str) -> int:
        """The number of a text."""
        if text not in self._texts:
            self._texts[text] = len(self._text_rows)
            self._text_rows.append(self._stored(text.encode()))
        return self._texts[text]

    def _shown(self, name: str) -> tuple[int, ...]:
        """Whether the class has JSON, and its content."""
        try:
            content = self._content(name)
        except UnicodeEncodeError:
            return 0, kinds.GENERAL, 0, 0, 0
        return SHOWN, *content, *(0,) * (4 - len(content))

    def _content(self, name: str) -> tuple[int, ...]:
        known = self._known
        if enum := known.enum_class(name):
            first = len(self._text_rows)
            for constant in enum.constants:
                self._text_rows.append(self._stored(_json(constant).encode()))
            return kinds.ENUM, len(enum.constants), 0, first
        described = known.user.get(name)
        if described is not None:
            return self._of_fields(described)
        body = CLASSES[name].body[known.is_5] if name in CLASSES else None
        if known.custom.get(name):
            body = registered_body(name, known)
            if body is None or body.shown is None:
                return (kinds.GENERAL,)
        body = _BYTES_BODY if name == _BYTES else body
        shown = body.shown if body else None
        if shown is not None:
            parts = [(part, self._text(text)) for text, part in shown.parts]
            self._parts += parts
            return kinds.NUMBERS, len(self._parts) - len(parts), len(parts), self._text(shown.end)
        if name.startswith("["):
            return self._array(name[1:])
        if known.is_5 and name == OPTIONAL:
            return self._of_fields(KryoClass(name, (KryoField("value", "java.lang.Object"),)))
        if name in SINGLE_ENTRIES:
            return kinds.OBJECTS_OF, 2, int(True)
        if body is not None and body.objects is not None:
            return kinds.OBJECTS_OF, body.objects
        collection = self._collection(name)
        if collection is not None:
            return collection
        fixed = known.fixed.get(name)
        if fixed is not None:
            return self._of_fields(fixed)
        return (kinds.UNKNOWN if is_unknown_class(name, known) else kinds.GENERAL,)

    def _collection(self, name: str) -> tuple[int, int] | None:
        if name == _ARRAYS_LIST:
            return kinds.LISTED, LIST if self._known.is_5 else CLASSED_LIST
        if form := LIST_FORMS.get(name):
            number = LIST | SORTED * form.is_sorted | WITHOUT_NULL * (not form.admits_null)
            return kinds.LISTED, number | FINAL * (not form.is_declared)
        if of_map := MAP_FORMS.get(name):
            is_sorted = of_map.is_sorted_in_5 if self._known.is_5 else of_map.is_sorted_in_2
            return kinds.MAPPED, MAP | SORTED * is_sorted | WITHOUT_NULL * (not of_map.admits_null)
        is_of_scala = name in SCALA_CLASSES and CLASSES[name].body[self._known.is_5] is not None
        return (kinds.LISTED, LIST) if is_of_scala else None

    def _array(self, component: str) -> tuple[int, int, int]:
        if component in _CODES:
            return kinds.PRIMITIVES, _part_of(_CODES[component]), 0
        name = component[1:-1] if component.startswith("L") else component
        is_final = self._known.is_final(name)
        return kinds.LISTED, ARRAY, self.number(name) if is_final else _NONE

    def _of_fields(self, described: KryoClass) -> tuple[int, ...]:
        fields: list[tuple[int, int, int]] = []
        for field in sorted(described.fields, key=lambda field: field.name):
            text = self._text(f", {_json(field.name)}: ")
            if field.type in _BOXED:
                fields.append((_part_of(field.type), 0, text))
            elif self._known.is_final(field.type):
                fields.append((-2 - self.number(field.type), 0, text))
            else:
                fields.append((_NONE, self._arguments_number(field.arguments), text))
        self._fields += fields
        front = self._text(object_front(described.class_name))
        return kinds.FIELDS, len(self._fields) - len(fields), len(fields), front

    def _arguments_number(self, arguments: Arguments) -> int:
        if len(arguments) > 2:
            return 0
        if arguments not in self._arguments:
            self._arguments[arguments] = number = len(self._argument_rows)
            self._argument_rows.append(())
            row = [len(arguments)]
            for argument in arguments:
                final = final_class(argument, self._known)
                inner = () if final else inner_arguments(argument, self._known)
                row += [self.number(final) if final else _NONE, self._arguments_number(inner)]
            self._argument_rows[number] = tuple(row + [_NONE, 0] * (2 - len(arguments)))
        return self._arguments[arguments]


class GraphMemory:
    """Memory for object graphs of Kryo."""

    def __init__(self, classes: GraphClasses) -> None:
        self._tables = TableMemory(classes.tables)
        self._memory = np.empty(GRAPH_SIZE, np.uint8)
        self._powers = powers_of_ten()
        self._memory[POWERS : POWERS + 8].view(np.int64)[0] = self._powers.buffer_info()[0]
        self.job = Graphs(self._tables.address, self._memory.ctypes.data)
