"""Lays objects of Kryo flat: instructions that read the graphs of a class into its column.

A program follows the description of a class. It refuses a record with an unknown class, an object of
another class, or a repeated collection. An object may have one of a few classes; each leads to
the instructions of its body.

| declared                                 | classes                     | instructions               |
|------------------------------------------|-----------------------------|----------------------------|
| primitive                                |                             | its own                    |
| class of ``SINGLES``, described enum     | itself; those of constants  | its own                    |
| described class                          | itself                      | those of its fields        |
| collection, map                          | any that is known           | ELEMENTS, those of one     |
| array                                    | itself                      | ELEMENTS, those of one     |
| any other, and a class inside itself     | any that is known           | JSON; it is null if written|
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.layout import TypeArgument
from savepoint_formats.program.general_path import (
    IN_ITSELF,
    NOT_WRITTEN,
    OF_A_URL,
    OF_A_ZONE,
    OF_NO_COLUMN,
)
from savepoint_formats.program.kernel.kryo.kryo_objects import (
    ARRAY,
    BY_CLASS,
    BY_LIST,
    CLASSED_LIST,
    FINAL,
    LIST,
    MAP,
    MOST_DEPTH,
    ONE,
    OR_NULL,
    SORTED,
    WITHOUT_NULL,
)
from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.program.kryo_singles import SINGLES
from savepoint_formats.program.object_listing import ObjectListing
from savepoint_formats.program.program import Storage
from savepoint_formats.values.kinds.codec import MAX_DEPTH
from savepoint_formats.values.kryo.classes import CODES, WRAPPERS
from savepoint_formats.values.kryo.collections import (
    EMPTY_COLLECTIONS,
    LIST_FORMS,
    MAP_FORMS,
    SINGLE_ENTRIES,
    SINGLE_LISTS,
)
from savepoint_formats.values.kryo.known_classes import DECLARED_TYPES, KRYO_TYPES
from savepoint_formats.values.kryo.lists import final_class, inner_arguments
from savepoint_formats.values.kryo.scala import SCALA, SCALA_LISTS, SCALA_NONE, SCALA_ONE
from savepoint_formats.values.kryo.structs import (
    OPTIONAL,
    UNDECODED,
    WITHOUT_NULL_CLASSES,
    WRITTEN_LISTS,
    WRITTEN_MAPS,
    WRITTEN_SETS,
    is_described,
    struct_column_type,
)
from savepoint_formats.values.kryo.types import NEVER_NULL_CLASSES, WRITTEN_CLASSES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from savepoint_formats.layout import Kryo, KryoClass, KryoField
    from savepoint_formats.program.graph_tables import GraphTables
    from savepoint_formats.program.listing import Draft, Listing
    from savepoint_formats.values.kryo.dialect import KryoDialect
    from savepoint_formats.values.kryo.graph import Arguments

    Declared = KryoField | TypeArgument
    Alternative = tuple[Sequence[str], Callable[[], object]]

_NO_CLASS, _NULL_IS_TEXT, _IS_FORGOTTEN = -1, -2, -3
_BOXED = {primitive: wrapper for wrapper, primitive in WRAPPERS.items()}
_ARRAYS_LIST = "java.util.Arrays$ArrayList"


def assemble_graph(
    layout: Kryo,
    dialect: KryoDialect,
    draft: Draft,
    listing: Listing,
    tables: GraphTables,
    *,
    writes: bool,
) -> bool:
    """Emits the instructions of a layout's graphs; returns whether it has any."""
    name = layout.class_name
    is_known = is_described(layout) or bool(layout.arguments)
    is_any = struct_column_type(layout) is None
    if not is_known and not is_any and (name not in SINGLES or name not in KRYO_TYPES):
        return False
    if is_any and writes:
        return False
    number = tables.number(layout, dialect)
    assembly = _GraphAssembly(layout, dialect, listing, tables.table(number), writes=writes)
    listing.emit(Op.GRAPH, number, int(dialect.is_5))
    if is_any:
        assembly.any_object(draft)
        return True
    if layout.arguments:
        assembly.collection(TypeArgument(name, layout.arguments), draft)
    else:
        assembly.root(name, draft)
    return True


def skip_graph(
    layout: Kryo, dialect: KryoDialect, draft: Draft, listing: Listing, tables: GraphTables
) -> None:
    """Emits instructions that pass over a graph of any known classes."""
    number = tables.number(layout, dialect)
    assembly = _GraphAssembly(layout, dialect, listing, tables.table(number), writes=False)
    listing.emit(Op.GRAPH, number, int(dialect.is_5))
    assembly.json(draft, BY_CLASS, _IS_FORGOTTEN, MOST_DEPTH)


class _GraphAssembly(ObjectListing):
    """Emits the instructions of objects."""

    def any_object(self, draft: Draft) -> None:
        """An object without a description, as JSON; and its bytes."""
        in_json, data, _ = self._listing.fields(draft, draft.type.names)
        self.json(in_json, BY_CLASS, _NULL_IS_TEXT, MAX_DEPTH)
        data.storage, data.density = Storage.BYTES, 1
        self._emit(Op.GRAPH_BYTES, data.number)

    def root(self, name: str, draft: Draft) -> None:
        """The object that a graph begins with."""
        described = self._described.get(name)
        if described is None:
            single = SINGLES[name]
            self._object(draft, BY_CLASS, [((name,), lambda: self._single(single, draft))])
        elif described.constants:
            constant, *_ = self._listing.fields(draft, draft.type.names)

            def body() -> None:
                self._expect(constant, before=True)
                self._constant(described, constant)
                self._expect(constant, before=False)

            self._object(draft, BY_CLASS, [(_names_of_enum(described), body)])
        else:
            fields = lambda: self._fields(described, draft, (name,))  # noqa: E731
            self._object(draft, BY_CLASS, [((name,), fields)])

    def collection(self, declared: TypeArgument, draft: Draft) -> None:
        """A collection that a graph begins with."""
        self._value(declared, draft, BY_CLASS, (), ())

    def _value(
        self, declared: Declared, draft: Draft, lead: int, known: Arguments, around: tuple[str, ...]
    ) -> None:
        """An object of a declared type.

        ``known`` are the type arguments that Kryo knows, ``around`` the described classes around it.
        """
        if declared.type.startswith("["):
            self._array(declared, draft, lead, known, around)
        elif declared.type == OPTIONAL and declared.arguments:
            (value,) = declared.arguments
            if self._writes:
                self._expect(draft, before=True)
            body = [((OPTIONAL,), lambda: self._value(value, draft, BY_CLASS, (), around))]
            self._object(draft, lead, body)
        elif len(declared.arguments) == 1:
            self._collection(declared, draft, lead, known, around)
        elif len(declared.arguments) == 2:
            self._map(declared, draft, lead, known, around)
        else:
            self._of_class(declared.type, draft, lead, around)

    def _of_class(self, name: str, draft: Draft, lead: int, around: tuple[str, ...]) -> None:
        described = self._described.get(name)
        single = SINGLES.get(name)
        if single is not None and single.argument[self._is_5] < 0:
            single = None
        if self._writes and name in NEVER_NULL_CLASSES:
            self._expect(draft, before=True)
        if described is not None and described.constants:
            constant = [(_names_of_enum(described), lambda: self._constant(described, draft))]
            self._object(draft, lead, constant)
        elif described is not None and name not in around:
            fields = [((name,), lambda: self._fields(described, draft, (*around, name)))]
            self._object(draft, lead, fields)
        elif single is None or described is not None or self._is_foreign(name):
            if self._writes or (name in DECLARED_TYPES and described is None):
                declared = OF_A_URL if name == "java.net.URL" else OF_A_ZONE
                with_text = declared if name in DECLARED_TYPES else OF_NO_COLUMN
                self._null(name, draft, lead, IN_ITSELF if described else with_text)
                return
            depth = MAX_DEPTH // 2 - 2 * (draft.path.count(".") + draft.path.count("["))
            is_class = self._known.is_final(name)
            self.json(draft, lead, self._classes.number(name) if is_class else _NO_CLASS, depth)
        else:
            self._object(draft, lead, [((name,), lambda: self._single(single, draft))])

    def _is_foreign(self, name: str) -> bool:
        """Whether a known class has bytes of its own here."""
        return name in self._known.user or bool(self._known.custom.get(name))

    def _fields(self, described: KryoClass, draft: Draft, around: tuple[str, ...]) -> None:
        names = draft.type.names
        drafts = dict(zip(names, self._listing.fields(draft, names), strict=True))
        if UNDECODED in drafts:
            drafts[UNDECODED].is_nullable = True
        for field in sorted(described.fields, key=lambda field: field.name):
            column = drafts[field.name]
            if field.type in _BOXED:
                if self._writes:
                    self._expect(column, before=True)
                self._single(SINGLES[_BOXED[field.type]], column)
            elif self._known.is_final(field.type):
                self._value(field, column, OR_NULL, (), around)
            else:
                self._value(field, column, BY_CLASS, field.arguments, around)

    # --- collections --------------------------------------------------------------------------

    def _collection(
        self, declared: Declared, draft: Draft, lead: int, known: Arguments, around: tuple[str, ...]
    ) -> None:
        usual_class = WRITTEN_CLASSES.get(declared.type, declared.type)
        is_written = usual_class in WRITTEN_LISTS
        if self._known.is_final(declared.type) or (self._writes and not is_written):
            self._null(declared.type, draft, lead, NOT_WRITTEN)
            return
        (element,) = declared.arguments
        is_final = len(known) == 1 and final_class(known[0], self._known) is not None
        inner = () if is_final or not known else inner_arguments(known[0], self._known)
        forms: dict[int, list[str]] = {}
        for name, form in LIST_FORMS.items():
            number = LIST | SORTED * form.is_sorted | WITHOUT_NULL * (not form.admits_null)
            number |= FINAL * (is_final and (form.is_declared or self._is_5))
            forms.setdefault(number, []).append(name)
        usual = LIST | FINAL * is_final
        forms.setdefault(ONE, []).extend(SINGLE_LISTS)
        empty = list(EMPTY_COLLECTIONS)
        if declared.type.startswith(SCALA):
            forms, empty = {usual: list(SCALA_LISTS), ONE: [SCALA_ONE]}, [SCALA_NONE]
        elif self._is_5:
            forms[usual].append(_ARRAYS_LIST)
        else:
            forms[CLASSED_LIST] = [_ARRAYS_LIST]
        column = self._listing.elements(draft, 1)
        draft.is_distinct = usual_class in WRITTEN_SETS

        def elements() -> None:
            if self._writes and usual_class in WITHOUT_NULL_CLASSES:
                self._expect(column, before=True)
            self._value(element, column, BY_LIST + draft.number, inner, around)

        self._elements(declared.type, draft, lead, (forms, empty), elements)

    def _map(
        self, declared: Declared, draft: Draft, lead: int, known: Arguments, around: tuple[str, ...]
    ) -> None:
        usual = WRITTEN_CLASSES.get(declared.type, declared.type)
        if self._writes and usual not in WRITTEN_MAPS:
            self._null(declared.type, draft, lead, NOT_WRITTEN)
            return
        finals = [final_class(part, self._known) is not None for part in known] or [False, False]
        inner = [inner_arguments(part, self._known) for part in known] or [(), ()]
        forms: dict[int, list[str]] = {}
        for name, form in MAP_FORMS.items():
            is_sorted = form.is_sorted_in_5 if self._is_5 else form.is_sorted_in_2
            number = MAP | SORTED * is_sorted | WITHOUT_NULL * (not form.admits_null)
            forms.setdefault(number | FINAL * any(finals), []).append(name)
        entry = self._listing.elements(draft, 1)
        draft.is_distinct = True
        drafts = self._listing.fields(entry, ("key", "value"))

        def elements() -> None:
            for index, column in enumerate(drafts):
                lead_of_part = BY_LIST + draft.number if finals[index] else BY_CLASS
                arguments = () if finals[index] else inner[index]
                is_never_null = index == 0 or (self._writes and usual in WITHOUT_NULL_CLASSES)
                if is_never_null:
                    self._expect(column, before=True)
                self._value(declared.arguments[index], column, lead_of_part, arguments, around)
                if is_never_null:
                    self._expect(column, before=False)

        forms.setdefault(ONE, []).extend(SINGLE_ENTRIES)
        self._elements(declared.type, draft, lead, (forms, list(EMPTY_COLLECTIONS)), elements)

    def _array(
        self, declared: Declared, draft: Draft, lead: int, known: Arguments, around: tuple[str, ...]
    ) -> None:
        name, component = declared.type, declared.type[1:]
        if component == "B":
            draft.storage, draft.density = Storage.BYTES, 1
            self._object(
                draft, lead, [((name,), lambda: self._emit(Op.COUNTED_BYTES, draft.number))]
            )
            return
        column = self._listing.elements(draft, 1)
        primitive = CODES.get(component)
        if not component.startswith("["):
            component = component.removeprefix("L").removesuffix(";")
        is_final = primitive is not None or self._known.is_final(component)

        def elements() -> None:
            if primitive:
                if self._writes:
                    self._expect(column, before=True)
                self._single(SINGLES[_BOXED[primitive]], column)
                return
            element = TypeArgument(component, declared.arguments)
            inner = () if is_final or self._is_5 else known
            self._value(element, column, BY_LIST + draft.number, inner, around)

        self._elements(name, draft, lead, ({ARRAY | FINAL * is_final: [name]}, []), elements)


def _names_of_enum(described: KryoClass) -> list[str]:
    """The classes of constants: the enum, or a class per constant."""
    name = described.class_name
    return [name, *(f"{name}${index + 1}" for index in range(len(described.constants)))]
