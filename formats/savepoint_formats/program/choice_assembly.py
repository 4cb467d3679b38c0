"""Lays values with alternatives flat: tags, unions of Avro, and POJOs with subclasses.

| layout         | instructions in front of the alternatives                              |
|----------------|------------------------------------------------------------------------|
| Tagged         | TAG                                                                    |
| IndexedUnion   | EXPECT of three zeros, TAG: of the index only the last byte differs    |
| Pojo           | TAG of the flags; of a registered subclass its number; of any other    |
|                | the bytes of its name, as a tree of EXPECT and TAG                     |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.layout import Pojo
from savepoint_formats.program.general_path import UNION_OF_MANY, WRITTEN_NULLS, InexpressibleError
from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.program.program import Storage
from savepoint_formats.values.arrow_types import value_branches
from savepoint_formats.values.kryo.structs import UNDECODED
from savepoint_formats.values.pojo_fields import (
    CLASS,
    class_fields,
    has_subclasses,
    pojo_classes,
    pojo_columns,
)
from savepoint_formats.values.pojo_values import (
    IS_NULL,
    IS_SUBCLASS,
    IS_TAGGED_SUBCLASS,
    NO_SUBCLASS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from savepoint_formats.layout import IndexedUnion, Layout, Tagged
    from savepoint_formats.program.assembly import Assembly
    from savepoint_formats.program.listing import Draft

_MOST_BRANCHES = 256


@dataclass(frozen=True, slots=True)
class _Choice:
    """An alternative: the jumps to it, what emits it, and the columns that it fills."""

    jumps: Sequence[list[int]]
    body: Callable[[], object]
    filled: Sequence[Draft]


def _assemble_choices(
    choices: Sequence[_Choice], drafts: Sequence[Draft], assembly: Assembly
) -> None:
    """Emits alternatives; a column that the chosen one does not fill is null."""
    ends: list[list[int]] = []
    for choice in choices:
        for jump in choice.jumps:
            jump[2] = assembly.here()
        choice.body()
        ends.append(assembly.emit(Op.GOTO))
    last: list[list[int]] = []
    for choice, end in zip(choices, ends, strict=True):
        end[2] = assembly.here()
        for draft in drafts:
            if draft not in choice.filled:
                assembly.absent(draft)
        last.append(assembly.emit(Op.GOTO))
    for end in last:
        end[2] = assembly.here()


def _branch(
    jump: list[int], layout: Layout, drafts: Sequence[Draft], assembly: Assembly, *, is_last: bool
) -> _Choice:
    """A value of the first column; the others around it are not null, either."""
    drafts[0].is_nullable = True

    def body() -> None:
        for draft in drafts:
            assembly.emit(Op.VALID, draft.number)
        assembly.value(layout, drafts[0], is_last=is_last)

    return _Choice([jump], body, drafts[:1])


def assemble_tagged(layout: Tagged, draft: Draft, assembly: Assembly, *, is_last: bool) -> None:
    """Emits a column per alternative."""
    drafts = assembly.fields(draft, layout.names)
    cases = _tag(layout.tags, assembly)
    choices = [
        _branch(case, field, [column], assembly, is_last=is_last)
        for case, field, column in zip(cases, layout.fields, drafts, strict=True)
    ]
    _assemble_choices(choices, drafts, assembly)


def assemble_union(
    layout: IndexedUnion, draft: Draft, assembly: Assembly, *, is_last: bool
) -> None:
    """Emits the only type beside null, or a column per type.

    Raises:
        InexpressibleError: There are too many types, or none.
    """
    given = value_branches(layout)
    if not given or len(layout.branches) > _MOST_BRANCHES:
        raise InexpressibleError(draft.path, UNION_OF_MANY)
    for _ in range(3):
        assembly.emit(Op.EXPECT)
    if assembly.writes and len(given) == 1 and len(layout.branches) == 2:
        flag = assembly.emit(Op.PRESENT if given[0] else Op.NULL, draft.number)
        assembly.value(layout.branches[given[0]], draft, is_last=is_last)
        assembly.after_null(flag, draft)
        return
    nulls = [index for index in range(len(layout.branches)) if index not in given]
    draft.is_nullable |= bool(nulls)
    if assembly.writes and nulls:
        assembly.general.append((draft.path, WRITTEN_NULLS))
        nulls = []
    jumps = _tag([*given, *nulls], assembly)
    is_plain = len(given) == 1
    columns = (
        [draft] if is_plain else assembly.fields(draft, [layout.names[index] for index in given])
    )
    around = [draft] if nulls and not is_plain else []
    choices = [
        _branch(jump, layout.branches[index], [column, *around], assembly, is_last=is_last)
        for index, column, jump in zip(given, columns, jumps, strict=False)
    ]
    if nulls:
        null = partial(assembly.emit, Op.ABSENT, draft.number)
        choices.append(_Choice(jumps[len(given) :], null, []))
    _assemble_choices(choices, columns, assembly)


def assemble_pojo(layout: Pojo, draft: Draft, assembly: Assembly, *, is_last: bool) -> None:
    """Emits a POJO; subclasses have columns together with it."""
    # Undecoded bytes are left to the general path: here their column is all null.
    undecoded = [UNDECODED] if layout.is_open else []
    if not has_subclasses(layout):
        flag = assembly.emit(Op.POJO, draft.number)
        drafts = assembly.fields(draft, [*layout.names, *undecoded])
        assembly.in_order(layout.fields, drafts[: len(layout.fields)], is_last)
        assembly.after_null(flag, draft)
        return
    names = [CLASS, *pojo_columns(layout).layouts, *undecoded]
    columns = dict(zip(names, assembly.fields(draft, names), strict=True))
    columns[CLASS].storage = Storage.NAMES
    columns[CLASS].names = tuple(name for name, _ in pojo_classes(layout))
    if not assembly.writes:
        _assemble_classes(layout, draft, columns, assembly)
        return
    _assemble_written_classes(layout, draft, columns, assembly)


def _assemble_written_classes(
    layout: Pojo, draft: Draft, columns: Mapping[str, Draft], assembly: Assembly
) -> None:
    """Emits the classes of a POJO that is written, each with its flags and name."""
    draft.is_nullable = columns[CLASS].is_nullable = True
    classes = pojo_classes(layout)
    assembly.emit(Op.CLASS, draft.number, len(classes))
    jumps = [assembly.emit(Op.CASE, columns[CLASS].number)]
    jumps += [assembly.emit(Op.CASE, number) for number in range(len(classes))]
    ends = []
    for number, (jump, (name, of_class)) in enumerate(zip(jumps[1:], classes, strict=True)):
        jump[2] = assembly.here()
        lead: tuple[int, ...] = (IS_TAGGED_SUBCLASS, number - 1)
        if number > len(layout.registered):
            lead = (IS_SUBCLASS, *_name_bytes(name))
        own = (NO_SUBCLASS,) if isinstance(of_class, Pojo) else ()
        for byte in (*(lead if number else ()), *own):
            assembly.emit(Op.EXPECT, 0, byte)
        for (_, part), column in zip(
            class_fields(of_class), pojo_columns(layout).of_class[name, of_class], strict=True
        ):
            _written_field(part, columns[column], assembly)
        ends.append(assembly.emit(Op.GOTO))
    jumps[0][2] = assembly.here()
    assembly.emit(Op.EXPECT, 0, IS_NULL)
    for end in ends:
        end[2] = assembly.here()


def _written_field(layout: Layout, draft: Draft, assembly: Assembly) -> None:
    """A field of a class, whose column is null in rows of other classes."""
    check, draft.is_nullable = assembly.emit(Op.KEY, draft.number), False
    assembly.value(layout, draft, is_last=False)
    if draft.is_nullable:
        check[0] = Op.VALID
    draft.is_nullable = True


def _assemble_classes(
    layout: Pojo, draft: Draft, columns: Mapping[str, Draft], assembly: Assembly
) -> None:
    """Emits the classes of a POJO that is read, each behind its flags and name."""
    draft.is_nullable = True
    jumps = _jumps_to_classes(layout, assembly)
    null = partial(assembly.emit, Op.ABSENT, draft.number)
    choices = [_Choice([jumps[-1]], null, [])]
    of_pojo = pojo_columns(layout)
    of_class = columns[CLASS]
    for number, (name, class_layout) in enumerate(pojo_classes(layout)):
        fields = [columns[column] for column in of_pojo.of_class[name, class_layout]]

        def body(
            number: int = number, class_layout: Layout = class_layout, fields: list[Draft] = fields
        ) -> None:
            assembly.emit(Op.VALID, draft.number)
            assembly.emit(Op.VALID, of_class.number)
            assembly.emit(Op.CONSTANT, of_class.number, number)
            if not isinstance(class_layout, Pojo):
                assembly.emit(Op.VALID, fields[0].number)
            elif number:
                assembly.emit(Op.EXPECT, 0, NO_SUBCLASS)
            parts = [field for _, field in class_fields(class_layout)]
            assembly.in_order(parts, fields, False)

        reached = [jumps[number]] if number in jumps else []
        choices.append(_Choice(reached, body, [of_class, *fields]))
    drafts = [of_class, *(columns[name] for name in of_pojo.layouts)]
    _assemble_choices(choices, drafts, assembly)


def _jumps_to_classes(layout: Pojo, assembly: Assembly) -> dict[int, list[int]]:
    """Emits the tags in front of a value; returns the jump to each class, that of null at -1."""
    is_tagged, is_named = bool(layout.registered), bool(layout.unregistered)
    flags = [IS_NULL, NO_SUBCLASS]
    flags += [IS_TAGGED_SUBCLASS] * is_tagged + [IS_SUBCLASS] * is_named
    null, own, *others = _tag(flags, assembly)
    jumps = {-1: null, 0: own}
    if is_tagged:
        others.pop(0)[2] = assembly.here()
        tags = _tag(range(len(layout.registered)), assembly)
        jumps |= dict(enumerate(tags, 1))
    if is_named:
        others.pop(0)[2] = assembly.here()
        jumps |= _assemble_names(_class_names(layout), assembly)
    return jumps


def _class_names(layout: Pojo) -> dict[bytes, int]:
    """The bytes of the names of subclasses that are not registered, and the classes' numbers."""
    names: dict[bytes, int] = {}
    for number, (name, _) in enumerate(layout.unregistered, 1 + len(layout.registered)):
        names.setdefault(_name_bytes(name), number)
    return names


def _name_bytes(name: str) -> bytes:
    view = DataOutputView()
    view.write_utf(name)
    return view.to_bytes()


def _assemble_names(
    names: Mapping[bytes, int], assembly: Assembly, size: int = 0
) -> dict[int, list[int]]:
    """Emits a tree of the bytes of names, from ``size`` on; returns the jump behind each."""
    least, most = min(names), max(names)
    start, size = size, len(least)
    for at in range(start, size):
        if least[at] != most[at]:
            size = at
            break
        assembly.emit(Op.EXPECT, 0, least[at])
    if len(names) == 1:
        (number,) = names.values()
        return {number: assembly.emit(Op.GOTO)}
    by_byte: dict[int, dict[bytes, int]] = {}
    for name, number in names.items():
        by_byte.setdefault(name[size], {})[name] = number
    jumps: dict[int, list[int]] = {}
    for case, of_byte in zip(_tag(by_byte, assembly), by_byte.values(), strict=True):
        case[2] = assembly.here()
        jumps |= _assemble_names(of_byte, assembly, size + 1)
    return jumps


def _tag(tags: Collection[int], assembly: Assembly) -> list[list[int]]:
    """Emits a tag, and returns its cases."""
    assembly.emit(Op.TAG, 0, len(tags))
    return [assembly.emit(Op.CASE, tag) for tag in tags]
