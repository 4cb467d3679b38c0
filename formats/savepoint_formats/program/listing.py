"""Instructions and columns of an unfinished program."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.program.program import ON_SLOTS, Column, Program, Storage
from savepoint_formats.values.kinds.times import NANOS, SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from savepoint_formats.layout import Layout
    from savepoint_formats.program.graph_tables import GraphClasses
    from savepoint_formats.values.kryo.dialect import KryoDialect
    from savepoint_formats.values.undecoded import Hides

PER_RECORD = -1
"""Parent of columns with a row per record."""


@dataclass(slots=True, eq=False)
class Draft:
    """An unfinished column with the attributes of ``Column``."""

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
    """Instructions and columns; slots without a column are numbered from -1 down at first.

    ``general`` is that of ``Program``. Columns that several classes share are made once.
    """

    def __init__(self) -> None:
        self.ops: list[list[int]] = []
        self.drafts: list[Draft] = []
        self.general: list[tuple[str, str]] = []
        self.extra_slots = 0
        self.needs_end = False

    def emit(self, op: Op, number: int = 0, argument: int = 0) -> list[int]:
        """Appends an instruction; its argument may be set later."""
        self.ops.append([op, number, argument])
        return self.ops[-1]

    def here(self) -> int:
        """The number of the next instruction."""
        return len(self.ops)

    def slot(self) -> int:
        """A new slot without a column."""
        self.extra_slots += 1
        return -self.extra_slots

    def column(self, path: str, data_type: pa.DataType, parent: int) -> Draft:
        """A new column."""
        self.drafts.append(Draft(len(self.drafts), path, data_type, parent))
        return self.drafts[-1]

    def absent(self, draft: Draft) -> None:
        """Emits a null without a flag."""
        draft.is_nullable = True
        self.emit(Op.ABSENT, draft.number)
        self.pads(draft)

    def pads(self, draft: Draft) -> None:
        """Emits defined bytes as the content of a null."""
        match draft.storage:
            case Storage.NUMBERS:
                self.emit(Op.ZERO, draft.number, draft.type.byte_width)
            case Storage.BITS | Storage.ROW_KINDS:
                self.emit(Op.ZERO, draft.number, 1)
            case Storage.NAMES:
                self.emit(Op.ZERO, draft.number, 4)
            case Storage.BYTES | Storage.LIST:
                self.emit(Op.PAD, draft.number)
            case Storage.RANGES:
                self.emit(Op.NO_REST, draft.number)
            case Storage.STRUCT:
                for child in draft.children:
                    if child.is_nullable:
                        self.emit(Op.ABSENT, child.number)
                    self.pads(child)

    def after_null(self, flag: list[int], draft: Draft, padding: int = 0) -> None:
        """Ends a value behind an instruction that jumps if the value is null."""
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
        draft.children = draft.children or tuple(
            self.column(f"{draft.path}.{name}", draft.type.field(index).type, draft.parent)
            for index, name in enumerate(names)
        )
        return list(draft.children)

    def precise(self, draft: Draft) -> Draft:
        """The column of a precise time's seconds; the next column has the nanoseconds."""
        seconds, nanos = self.fields(draft, (SECONDS, NANOS))
        seconds.storage = nanos.storage = Storage.NUMBERS
        return seconds

    def elements(self, draft: Draft, density: float) -> Draft:
        """The column of a list's elements, or of a map's entries."""
        draft.storage = Storage.LIST
        draft.density = density
        if draft.children:
            return draft.children[0]
        is_map = pa.types.is_map(draft.type)
        element_type = (
            pa.struct([draft.type.key_field, draft.type.item_field])
            if is_map
            else draft.type.value_type
        )
        element = self.column(f"{draft.path}[]", element_type, draft.number)
        draft.children = (element,)
        return element

    @contextmanager
    def repeated(self, op: Op, draft: Draft, size: int = 0) -> Iterator[None]:
        """Repeats the instructions of the context per element; ``size`` is for an array's slot."""
        with_count = self.emit(op, draft.number)
        if size:
            self.emit(Op.CASE, size)
        start = self.here()
        yield
        self.emit(Op.NEXT, draft.number, start)
        with_count[2] = self.here()

    def finished(
        self,
        layout: Layout,
        kryo: KryoDialect | None,
        classes: GraphClasses | None = None,
        *,
        hides: Hides,
    ) -> Program:
        """The program of these instructions and columns."""
        return Program(
            layout=layout,
            ops=_table(self.ops, len(self.drafts)),
            columns=tuple(_finished(draft) for draft in self.drafts),
            slots=len(self.drafts) + self.extra_slots,
            needs_end=self.needs_end,
            kryo=kryo,
            hides=hides,
            graph_classes=classes,
            general=tuple(self.general),
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


def _table(ops: list[list[int]], columns: int) -> npt.NDArray[np.int32]:
    """The instructions; slots are numbered behind the columns."""
    table = np.array(ops, np.int32)
    on_slots = np.isin(table[:, 0], list(ON_SLOTS)) & (table[:, 1] < 0)
    table[on_slots, 1] = columns - 1 - table[on_slots, 1]
    sizes = table[:, 0] == Op.SIZE
    table[sizes, 2] = columns - 1 - table[sizes, 2]
    table.setflags(write=False)
    return table
