"""Instructions that all objects of Kryo have in a program: see ``kryo_assembly``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.program.program import Storage
from savepoint_formats.values.kryo.known_classes import known_classes
from savepoint_formats.values.kryo.types import WRITTEN_CLASSES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from savepoint_formats.layout import Kryo, KryoClass
    from savepoint_formats.program.graph_tables import ClassTable
    from savepoint_formats.program.kryo_singles import Single
    from savepoint_formats.program.listing import Draft, Listing
    from savepoint_formats.values.kryo.dialect import KryoDialect

    Alternative = tuple[Sequence[str], Callable[[], object]]

_JSON_DENSITY = 8
"""The most bytes of JSON per byte of a graph that has no more than usual."""


class ObjectListing:
    """Emits what all objects have: leads, single values, collections of any form."""

    def __init__(
        self,
        layout: Kryo,
        dialect: KryoDialect,
        listing: Listing,
        classes: ClassTable,
        *,
        writes: bool,
    ) -> None:
        self._writes = writes
        self._known = known_classes(layout, dialect)
        self._described = {described.class_name: described for described in layout.classes}
        self._is_5 = dialect.is_5
        self._listing = listing
        self._classes = classes
        self._emit = listing.emit

    def json(self, draft: Draft, lead: int, number: int, depth: int) -> None:
        """Any object as JSON, with at most ``depth`` objects in each other."""
        self._classes.add_all()
        draft.storage, draft.density, draft.is_nullable = Storage.BYTES, _JSON_DENSITY, True
        self._emit(Op.JSON, draft.number, depth)
        self._emit(Op.CASE, lead, number)

    def _expect(self, draft: Draft, *, before: bool) -> None:
        """Refuses null: before the value if it is written, behind it if it is read."""
        draft.is_nullable = True
        if before == self._writes:
            self._emit(Op.KEY, draft.number)

    def _single(self, single: Single, draft: Draft) -> None:
        """A value of a class of the JDK, or of a primitive type."""
        draft.storage, draft.density = single.storage, single.density
        draft.is_of_graph = True
        argument = single.argument[self._is_5]
        if single.is_precise:
            argument = self._listing.precise(draft).number
        is_text = single.op == Op.MOMENT_TEXT
        is_text |= single.op == Op.ASCII_TEXT and not single.is_any_text
        if self._writes and is_text:
            self._emit(Op.REFUSE)
        instructions = [*single.parts[self._is_5], (single.op, draft.number, argument)]
        # A value is divided before its parts are written.
        if self._writes:
            instructions.insert(0, instructions.pop())
        for instruction in instructions:
            self._emit(*instruction)

    def _constant(self, described: KryoClass, draft: Draft) -> None:
        draft.storage, draft.names = Storage.NAMES, described.constants
        self._emit(Op.CONSTANT_INDEX, draft.number, len(described.constants))

    def _elements(
        self,
        declared: str,
        draft: Draft,
        lead: int,
        forms: tuple[dict[int, list[str]], list[str]],
        elements: Callable[[], None],
    ) -> None:
        """A collection of any of these forms, or empty; all have the same elements."""
        usual = WRITTEN_CLASSES.get(declared, declared)
        heads: list[tuple[list[int], list[int]]] = []

        def head(form: int) -> None:
            heads.append((self._emit(Op.ELEMENTS, draft.number), self._emit(Op.CASE, form)))
            if self._writes:
                self._emit(Op.CASE)

        of_forms, empty = forms
        alternatives: list[Alternative] = [
            (sorted(names, key=lambda name: name != usual), partial(head, form))
            for form, names in sorted(of_forms.items(), key=lambda pair: usual not in pair[1])
        ]
        if empty:
            alternatives.append((empty, lambda: self._emit(Op.PAD, draft.number)))
        if self._writes:
            alternatives = [([usual], alternatives[0][1])]
        ends = self._object_heads(draft, lead, alternatives)
        start = self._listing.here()
        elements()
        self._emit(Op.NEXT, draft.number, start)
        for with_count, form in heads:
            with_count[2], form[2] = self._listing.here(), start
        if self._writes:
            self._listing.ops[start - 2][1:] = self._class_of_elements(start)
        self._end_object(draft, ends)

    def _class_of_elements(self, start: int) -> tuple[int, int]:
        """Class and column of the elements that are written from an instruction on."""
        ops = self._listing.ops
        place = next((at for at in range(start, len(ops)) if ops[at][0] == Op.OBJECT), None)
        return (0, 0) if place is None else (ops[place + 2][1], ops[place][1])

    def _object(self, draft: Draft, lead: int, alternatives: Sequence[Alternative]) -> None:
        self._end_object(draft, self._object_heads(draft, lead, alternatives))

    def _object_heads(
        self, draft: Draft, lead: int, alternatives: Sequence[Alternative]
    ) -> tuple[list[int], list[list[int]]]:
        """Emits leads and bodies of an object; returns the CASE of null, and the jumps to the end."""
        draft.is_nullable = True
        if self._writes:
            alternatives = [(names[:1], body) for names, body in alternatives[:1]]
        names = [name for names, _ in alternatives for name in names]
        self._emit(Op.OBJECT, draft.number, len(names))
        null = self._emit(Op.CASE, lead)
        cases = [self._emit(Op.CASE, self._classes.number(name)) for name in names]
        ends: list[list[int]] = []
        for names_of_body, body in alternatives:
            for _ in names_of_body:
                cases.pop(0)[2] = self._listing.here()
            body()
            ends.append(self._emit(Op.GOTO))
        return null, ends

    def _end_object(self, draft: Draft, heads: tuple[list[int], list[list[int]]]) -> None:
        null, ends = heads
        ends.append(self._emit(Op.GOTO))
        null[2] = self._listing.here()
        self._listing.pads(draft)
        for end in ends:
            end[2] = self._listing.here()

    def _null(self, name: str, draft: Draft, lead: int, reason: str) -> None:
        """Null; an object of the class goes through the general path."""
        self._listing.general.append((draft.path, reason))
        self._object(draft, lead, [((name,), lambda: self._emit(Op.REFUSE))])
