"""Tables of the content of Kryo's objects, which the kernel passes over: see ``any_graphs``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.program.kernel import any_graphs as kinds
from savepoint_formats.program.kernel.kryo_objects import (
    ARRAY,
    CLASSED_LIST,
    FINAL,
    LIST,
    MAP,
    SORTED,
    WITHOUT_NULL,
)
from savepoint_formats.values.kryo.body import Part, Parts
from savepoint_formats.values.kryo.classes import CODES, WRAPPERS
from savepoint_formats.values.kryo.collections import (
    EMPTY_COLLECTIONS,
    LIST_FORMS,
    MAP_FORMS,
    SINGLE_ENTRIES,
    SINGLE_LISTS,
)
from savepoint_formats.values.kryo.known_classes import (
    CLASSES,
    JAVA_SERIALIZED,
    KnownClasses,
    described_body,
    known_body,
    known_classes,
)
from savepoint_formats.values.kryo.lists import final_class, inner_arguments
from savepoint_formats.values.kryo.output import KryoOutput

if TYPE_CHECKING:
    import numpy.typing as npt

    from savepoint_formats.layout import Kryo, KryoClass
    from savepoint_formats.values.kryo.dialect import KryoDialect
    from savepoint_formats.values.kryo.graph import Arguments

_FIRST_NUMBER = 2
_NONE = -1
_ARRAYS_LIST = "java.util.Arrays$ArrayList"
_CODES = {code: name for code, name in CODES.items() if code != "B"}
_BYTES = "[B"
_BOXED = {primitive: wrapper for wrapper, primitive in WRAPPERS.items()}
_OBJECTS: dict[str, int] = {
    **dict.fromkeys(EMPTY_COLLECTIONS, 0),
    **dict.fromkeys(SINGLE_LISTS, 1),
    **dict.fromkeys(SINGLE_ENTRIES, 2),
}
_OBJECTS_OF_2: dict[str, int] = {
    "scala.None$": 0,
    **dict.fromkeys(("scala.Some", "scala.util.Left", "scala.util.Right"), 1),
    **{f"scala.Tuple{size}": size for size in range(1, 23)},
}


def _part_of(primitive: str) -> Part:
    parts = CLASSES[_BOXED[primitive]].parts[1]
    assert parts is not None  # of all wrappers they are known
    return parts[0]


class GraphTables:
    """The tables of the layouts of a program; ``known`` has the known classes of each layout."""

    def __init__(self) -> None:
        self.known: list[KnownClasses] = []
        self._tables: list[_Table] = []

    def number(self, layout: Kryo, dialect: KryoDialect) -> int:
        """The number of the tables of a layout."""
        known = known_classes(layout, dialect)
        if known not in self.known:
            self.known.append(known)
            self._tables.append(_Table(known))
        return self.known.index(known)

    def addresses(self) -> npt.NDArray[np.int64]:
        """The addresses of all tables; they are valid while this object lives."""
        return np.array([table.addresses() for table in self._tables], np.int64)

    def class_name(self, number: int) -> str | None:
        """The class of a number; None if there are several layouts."""
        return self._tables[0].names[number] if len(self._tables) == 1 else None


def is_unknown(name: str, known: KnownClasses) -> bool:
    """Whether the content of a class's objects is unknown."""
    return not (
        described_body(name, known)
        or known_body(name, known)
        or known.custom.get(name)
        or name in JAVA_SERIALIZED
    )


class _Table:
    """The table of a layout."""

    def __init__(self, known: KnownClasses) -> None:
        self._known = known
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._rows: list[tuple[int, ...]] = []
        self._bytes = bytearray()
        self._parts: list[int] = []
        self._fields: list[tuple[int, int]] = []
        self._arguments: dict[Arguments, int] = {(): 0}
        self._argument_rows: list[tuple[int, ...]] = [(0, _NONE, 0, _NONE, 0)]
        for name in self._usual_names():
            self._number(name)

        self._held = [
            np.array(self._rows, np.int64),
            np.array([*self._parts, 0], np.int64),
            np.array([*self._fields, (0, 0)], np.int64),
            np.array(self._argument_rows, np.int64),
        ]
        self._name_bytes = np.frombuffer(bytes(self._bytes), np.uint8)
        self._held[0][:, 1] += self._name_bytes.ctypes.data

    def addresses(self) -> tuple[int, ...]:
        """Addresses of classes, parts, fields and arguments; behind the first is the classes' count."""
        classes, *others = self._held
        return (classes.ctypes.data, len(classes), *(table.ctypes.data for table in others))

    def _usual_names(self) -> list[str]:
        """Classes that may come by name or number; classes of the user come first."""
        known = self._known
        names = [*known.user]
        for described in known.user.values():
            names += [f"{described.class_name}${at + 1}" for at in range(len(described.constants))]
            names.append(f"[L{described.class_name};")
        own = () if known.is_5 else tuple(_OBJECTS_OF_2)
        names += ["java.util.ArrayList", "java.util.HashMap", *known.registered.values()]
        names += [_BYTES, *CLASSES, *own]
        names += [f"[{code}" for code in _CODES]
        names += [f"[L{name};" for name in ("java.lang.String", "java.lang.Object", *WRAPPERS)]
        return list(dict.fromkeys(names))

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = number = len(self.names)
            self.names.append(name)
            self._rows.append(())
            start = len(self._bytes)
            view = DataOutputView()
            KryoOutput(view, is_5=self._known.is_5).write_class_name(name)
            self._bytes += view.to_bytes()
            own = self._known.numbers.get(name, _NONE - _FIRST_NUMBER) + _FIRST_NUMBER
            is_tracked = int(self._known.has_references(name))
            lead = (own, start, len(self._bytes) - start, is_tracked)
            self._rows[number] = (*lead, *self._content(name))
        return self._numbers[name]

    def _content(self, name: str) -> tuple[int, int, int]:
        known = self._known
        if enum := known.enum_class(name):
            return kinds.ENUM, len(enum.constants), 0
        described = known.user.get(name)
        if described is None and known.custom.get(name):
            return kinds.GENERAL, 0, 0
        if described is not None:
            return self._of_fields(described)
        parts = (Part.COUNTED,) if name == _BYTES else self._parts_of(name)
        if parts is not None:
            self._parts += parts
            return kinds.NUMBERS, len(self._parts) - len(parts), len(parts)
        if name.startswith("["):
            return self._array(name[1:])
        count = _OBJECTS.get(name, None if known.is_5 else _OBJECTS_OF_2.get(name))
        if count is not None or (known.is_5 and name == "java.util.Optional"):
            return kinds.OBJECTS, 1 if count is None else count, 0
        collection = self._collection(name)
        if collection is not None:
            return *collection, 0
        fixed = known.fixed.get(name)
        if fixed is not None:
            return self._of_fields(fixed)
        return (kinds.UNKNOWN if is_unknown(name, known) else kinds.GENERAL), 0, 0

    def _parts_of(self, name: str) -> Parts | None:
        row = CLASSES.get(name)
        return row.parts[self._known.is_5] if row else None

    def _collection(self, name: str) -> tuple[int, int] | None:
        if name == _ARRAYS_LIST:
            return kinds.LISTED, LIST if self._known.is_5 else CLASSED_LIST
        if form := LIST_FORMS.get(name):
            number = LIST | SORTED * form.is_sorted | WITHOUT_NULL * (not form.admits_null)
            return kinds.LISTED, number | FINAL * (not form.is_declared)
        if of_map := MAP_FORMS.get(name):
            is_sorted = of_map.is_sorted_in_5 if self._known.is_5 else of_map.is_sorted_in_2
            return kinds.MAPPED, MAP | SORTED * is_sorted | WITHOUT_NULL * (not of_map.admits_null)
        return None

    def _array(self, component: str) -> tuple[int, int, int]:
        if component in _CODES:
            return kinds.PRIMITIVES, _part_of(_CODES[component]), 0
        name = component[1:-1] if component.startswith("L") else component
        is_final = self._known.is_final(name)
        return kinds.LISTED, ARRAY, self._number(name) if is_final else _NONE

    def _of_fields(self, described: KryoClass) -> tuple[int, int, int]:
        fields: list[tuple[int, int]] = []
        for field in sorted(described.fields, key=lambda field: field.name):
            if field.type in _BOXED:
                fields.append((_part_of(field.type), 0))
            elif self._known.is_final(field.type):
                fields.append((-2 - self._number(field.type), 0))
            else:
                fields.append((_NONE, self._arguments_number(field.arguments)))
        self._fields += fields
        return kinds.FIELDS, len(self._fields) - len(fields), len(fields)

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
                row += [self._number(final) if final else _NONE, self._arguments_number(inner)]
            self._argument_rows[number] = tuple(row + [_NONE, 0] * (2 - len(arguments)))
        return self._arguments[arguments]
