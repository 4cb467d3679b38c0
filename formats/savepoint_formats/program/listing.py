"""A program in the making: instructions and columns, as far as they are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.program.kernel import FIXED_SIZES
from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.program.program import ON_SLOTS, Column, Program, Storage
from savepoint_formats.values.kinds.times import NANOS, SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from savepoint_formats.layout import Layout
    from savepoint_formats.program.kryo_classes import GraphClasses
    from savepoint_formats.values.hidden_ends import Hides
    from savepoint_formats.values.kryo.dialect import KryoDialect

PER_RECORD = -1
"""The parent of columns that have a row per record."""


@dataclass(slots=True, eq=False)
class Draft:
    """A column in the making; its attributes are those of ``Column``."""

    number: int
    path: str
    type: pa.DataType
    parent: int
    storage: Storage = Storage.NOTHING
    is_nullable: bool = False
    children: tuple[Draft, ...] = ()
    density: float = 0.0
    names: tuple[str, ...] = ()
    layout: Layout | None = None
    forbids_null: bool = False
    length: int = 0
    is_distinct: bool = False
    is_of_graph: bool = False


class Listing:
    """Instructions and columns, as far as they are known.

    Slots that are no column's are numbered from -1 down until all columns are known.
    """

    def __init__(self) -> None:
        self.ops: list[list[int]] = []
        self.drafts: list[Draft] = []
        self.extra_slots = 0
        self.needs_end = False

    # --- tools --------------------------------------------------------------------------------

    def emit(self, op: Op, number: int = 0, argument: int = 0) -> list[int]:
        """Appends an instruction; its argument may be set when it is known."""
        self.ops.append([op, number, argument])
        return self.ops[-1]

    def here(self) -> int:
        """The number of the next instruction."""
        return len(self.ops)

    def slot(self) -> int:
        """A slot of its own."""
        self.extra_slots += 1
        return -self.extra_slots

    def column(self, path: str, data_type: pa.DataType, parent: int) -> Draft:
        """A column, of which not much is known yet."""
        self.drafts.append(Draft(len(self.drafts), path, data_type, parent))
        return self.drafts[-1]

    def absent(self, draft: Draft) -> None:
        """The instructions for a null where no flag was read."""
        draft.is_nullable = True
        self.emit(Op.ABSENT, draft.number)
        self.pads(draft)

    def pads(self, draft: Draft) -> None:
        """What a null needs besides its bit, so that nothing is left to chance."""
        match draft.storage:
            case Storage.NUMBERS:
                self.emit(Op.ZERO, draft.number, draft.type.byte_width)
            case Storage.BITS | Storage.ROW_KINDS:
                self.emit(Op.ZERO, draft.number, 1)
            case Storage.NAMES:
                self.emit(Op.ZERO, draft.number, 4)
            case Storage.BYTES | Storage.LIST:
                self.emit(Op.PAD, draft.number)
            case Storage.PIECES:
                self.emit(Op.NO_REST, draft.number)
            case Storage.STRUCT:
                for child in draft.children:
                    if child.is_nullable:
                        self.emit(Op.ABSENT, child.number)
                    self.pads(child)

    def after_null(self, flag: list[int], draft: Draft, padding: int = 0) -> None:
        """Ends the value behind an instruction that jumps if it is null."""
        draft.is_nullable = True
        goto = self.emit(Op.GOTO)
        flag[2] = self.here()
        if padding:
            self.emit(Op.SKIP, 0, padding)
        self.pads(draft)
        if self.here() == flag[2]:
            self.ops.pop()
            flag[2] = self.here()
        goto[2] = self.here()

    def fields(self, draft: Draft, names: Sequence[str]) -> list[Draft]:
        """The columns of a struct."""
        draft.storage = Storage.STRUCT
        draft.children = tuple(
            self.column(f"{draft.path}.{name}", draft.type.field(index).type, draft.parent)
            for index, name in enumerate(names)
        )
        return list(draft.children)

    def precise(self, draft: Draft) -> Draft:
        """The column of the seconds of a time with nanoseconds; theirs is the next one."""
        seconds, nanos = self.fields(draft, (SECONDS, NANOS))
        seconds.storage = nanos.storage = Storage.NUMBERS
        return seconds

    def elements(self, draft: Draft, density: float) -> Draft:
        """The column of a list's elements, or of a map's entries."""
        draft.storage = Storage.LIST
        draft.density = density
        is_map = pa.types.is_map(draft.type)
        element_type = (
            pa.struct([draft.type.key_field, draft.type.item_field])
            if is_map
            else draft.type.value_type
        )
        element = self.column(f"{draft.path}[]", element_type, draft.number)
        draft.children = (element,)
        return element

    def finished(
        self,
        layout: Layout,
        kryo: KryoDialect | None,
        classes: GraphClasses | None = None,
        *,
        hides: Hides,
    ) -> Program:
        """The program."""
        return Program(
            layout=layout,
            ops=_table(self.ops, len(self.drafts)),
            columns=tuple(_finished(draft) for draft in self.drafts),
            slots=len(self.drafts) + self.extra_slots,
            needs_end=self.needs_end,
            kryo=kryo,
            record_size=_record_size([op for op, *_ in self.ops]),
            hides=hides,
            graph_classes=classes,
        )


def _finished(draft: Draft) -> Column:
    return Column(
        path=draft.path,
        type=draft.type,
        storage=draft.storage,
        parent=draft.parent,
        is_nullable=draft.is_nullable,
        children=tuple(child.number for child in draft.children),
        density=draft.density,
        names=draft.names,
        layout=draft.layout,
        forbids_null=draft.forbids_null,
        length=draft.length,
        is_distinct=draft.is_distinct,
        is_of_graph=draft.is_of_graph,
    )


def _record_size(ops: list[int]) -> int | None:
    """What all records of these instructions have in bytes; None if they can differ."""
    sizes = [FIXED_SIZES.get(Op(op)) for op in ops]
    return None if None in sizes else sum(size for size in sizes if size)


def _table(ops: list[list[int]], columns: int) -> npt.NDArray[np.int32]:
    """The instructions, with slots numbered behind the columns."""
    table = np.array(ops, np.int32)
    on_slots = np.isin(table[:, 0], list(ON_SLOTS)) & (table[:, 1] < 0)
    table[on_slots, 1] = columns - 1 - table[on_slots, 1]
    sizes = table[:, 0] == Op.SIZE
    table[sizes, 2] = columns - 1 - table[sizes, 2]
    table.setflags(write=False)
    return table
