"""Instructions of case classes, sealed traits and collections of flink-scala-api.

The first byte shows whether an arity or a count stands for null. Other meanings of a first byte,
such as an arity of fewer fields, take the general path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.layout import CaseClass, Coproduct, Marker, OfScala
from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.program.program import Storage
from savepoint_formats.values.pojo_fields import CLASS, class_fields, pojo_columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.layout import Layout
    from savepoint_formats.program.assembly import Assembly
    from savepoint_formats.program.listing import Draft

_MOST_FIELDS = 255
_FIRST_OF_NULL = 0x80


def assemble_scala(
    layout: CaseClass | Coproduct | OfScala, draft: Draft, assembly: Assembly
) -> bool:
    """Emits a value; False if no instructions read it."""
    match layout:
        case CaseClass(_, names, fields, padding):
            if not 0 < len(fields) <= _MOST_FIELDS:
                return False

            def content() -> None:
                _expect(assembly, 0, 0, len(fields))
                for field, column in zip(fields, assembly.fields(draft, names), strict=True):
                    assembly.value(field, column, is_last=False)

            _or_null(draft, assembly, content, padding)
        case OfScala(inner, False):
            assembly.value(inner, draft, is_last=False)
        case OfScala(inner):

            def counted() -> None:
                assembly.emit(Op.SKIP, 0, -1)
                assembly.value(inner, draft, is_last=False)

            _or_null(draft, assembly, counted)
        case Coproduct():
            return _subtypes(layout, draft, assembly)
    return True


def _expect(assembly: Assembly, *values: int) -> None:
    for value in values:
        assembly.emit(Op.EXPECT, 0, value)


def _or_null(
    draft: Draft, assembly: Assembly, content: Callable[[], None], padding: int = 0
) -> None:
    """A value behind the first byte of its i32, or a null of the smallest i32."""
    assembly.emit(Op.TAG, 0, 2)
    given, null = assembly.emit(Op.CASE, 0), assembly.emit(Op.CASE, _FIRST_OF_NULL)
    given[2] = assembly.here()
    assembly.emit(Op.VALID, draft.number)
    content()
    end = assembly.emit(Op.GOTO)
    null[2] = assembly.here()
    _expect(assembly, 0, 0, 0)
    assembly.emit(Op.SKIP, 0, padding)
    assembly.absent(draft)
    end[2] = assembly.here()


def _subtypes(layout: Coproduct, draft: Draft, assembly: Assembly) -> bool:
    """A case per subtype, which fills its columns; False if two subtypes share a nested column."""
    columns = pojo_columns(layout)
    names = [CLASS, *columns.layouts]
    drafts = dict(zip(names, assembly.fields(draft, names), strict=True))
    drafts[CLASS].storage, drafts[CLASS].names = Storage.NAMES, layout.classes
    assembly.emit(Op.TAG, 0, len(layout.classes) + 1)
    cases = [assembly.emit(Op.CASE, index) for index in range(len(layout.classes))]
    null = assembly.emit(Op.CASE, _FIRST_OF_NULL)
    given_ends = []
    for index, (name, field) in enumerate(zip(layout.classes, layout.fields, strict=True)):
        cases[index][2] = assembly.here()
        assembly.emit(Op.VALID, draft.number)
        assembly.emit(Op.CONSTANT, drafts[CLASS].number, index)
        own = columns.of_class[name, field]
        if any(drafts[column].children for column in own):
            return False
        _subtype(field, [drafts[column] for column in own], assembly)
        given_ends.append((own, assembly.emit(Op.GOTO)))
    ends = []
    for own, given_end in given_ends:
        given_end[2] = assembly.here()
        for column in columns.layouts:
            if column not in own:
                assembly.absent(drafts[column])
        ends.append(assembly.emit(Op.GOTO))
    null[2] = assembly.here()
    assembly.absent(draft)
    for end in ends:
        end[2] = assembly.here()
    return True


def _subtype(field: Layout, drafts: list[Draft], assembly: Assembly) -> None:
    if isinstance(field, CaseClass):
        _expect(assembly, 0, 0, 0, len(field.fields))
    for (_, part), column in zip(class_fields(field), drafts, strict=True):
        column.is_nullable = True
        assembly.emit(Op.VALID, column.number)
        assembly.value(part, column, is_last=False)
    if isinstance(field, Marker) and field.value is not None:
        assembly.emit(Op.EXPECT, 0, field.value)
