"""A layout laid flat: a table of instructions, and the columns that they fill.

``str(program)`` prints both, here for ``Struct(("id", "tags"), (Nullable(Long()), Repeated(Text())))``::

    0 NULL            column 1   -> 3          0 struct    $: struct<id: int64, tags: ...>
    1 LONG            column 1                 1 numbers   $.id: int64
    2 GOTO                       -> 4          2 list      $.tags: list<item: string>
    3 ZERO            column 1   8             3 bytes     $.tags[]: string
    4 LIST            column 2   -> 7
    5 TEXT            column 3
    6 NEXT            column 2   -> 5
    7 END

A layout that no program can express (objects that Java serialized) is one instruction, REST. It leaves
the bytes up to the end of the record to the general path: a column if that is the last one, else the
whole record. ``Program.general`` says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from savepoint_formats.program.kernel.ops import Op

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from savepoint_formats.layout import Layout
    from savepoint_formats.program.graph_tables import GraphClasses
    from savepoint_formats.values.kryo.dialect import KryoDialect
    from savepoint_formats.values.undecoded import Hides


class Storage(IntEnum):
    """Buffers of a column, except the buffer of its nulls."""

    NOTHING = 0
    """None: every value is null."""
    NUMBERS = 1
    """Values of one size."""
    BITS = 2
    """A byte each, which becomes a bit."""
    NAMES = 3
    """An i32 each, the index of one of the column's names."""
    ROW_KINDS = 4
    """A byte each, the index of one of ``ROW_KINDS``."""
    BYTES = 5
    """Offsets and bytes: texts too."""
    LIST = 6
    """Offsets of elements, which are another column; lists and maps."""
    STRUCT = 7
    """Other columns."""
    RANGES = 8
    """Where bytes for the general path begin and end."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column that the kernel fills.

    Attributes:
        path: The names from the root down: ``value.tags[]``.
        type: Its Arrow type.
        storage: Its kind of buffers.
        parent: The list column that has the elements; -1 if it has a row per record.
        is_nullable: Whether it has a buffer of nulls.
        children: The columns of a struct; the elements of a list.
        density: The most bytes of a text, or elements of a list, per byte of input.
        names: The constants of an enum.
        layout: The layout of values for the general path.
        forbids_null: Whether a null cannot be written although there is a bit for it.
        length: The most characters or bytes that may be written; 0 = any number.
        is_distinct: Whether elements or keys must differ when they are written.
        is_of_graph: Whether it is in an object of Kryo.
    """

    path: str
    type: pa.DataType
    storage: Storage
    parent: int
    is_nullable: bool
    children: tuple[int, ...] = ()
    density: float = 0.0
    names: tuple[str, ...] = ()
    layout: Layout | None = None
    forbids_null: bool = False
    length: int = 0
    is_distinct: bool = False
    is_of_graph: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """How the kernel decodes records of a layout.

    Attributes:
        layout: The layout.
        ops: Op, column and argument of each instruction, i32.
        columns: The root is the first.
        slots: How many slots there are; a column is the slot of its own number.
        needs_end: Whether the end of a record must be known before it is decoded.
        kryo: The Kryo that wrote its object graphs.
        hides: Content that undecodable bytes may hide.
        graph_classes: The classes in its graphs of Kryo, if it has any.
        general: Path and reason of each layout that goes value by value.
    """

    layout: Layout
    ops: npt.NDArray[np.int32]
    columns: tuple[Column, ...]
    slots: int
    needs_end: bool
    kryo: KryoDialect | None = None
    hides: Hides = "nothing"
    graph_classes: GraphClasses | None = None
    general: tuple[tuple[str, str], ...] = ()

    @property
    def type(self) -> pa.DataType:
        """The Arrow type of the layout's values."""
        return self.columns[0].type

    @property
    def has_ranges(self) -> bool:
        """Whether it leaves anything to the general path."""
        return any(column.storage == Storage.RANGES for column in self.columns)

    def __str__(self) -> str:
        instructions = (
            f"{index:4} {_instruction(*row)}" for index, row in enumerate(self.ops.tolist())
        )
        columns = (
            f"{index:4} {column.storage.name.lower():9} {column.path}: {column.type}"
            for index, column in enumerate(self.columns)
        )
        return "\n".join([*instructions, *columns])


_JUMPS = frozenset(
    {
        Op.NULL,
        Op.PRESENT,
        Op.NULL_REST,
        Op.BIT,
        Op.POJO,
        Op.LIST,
        Op.MASKED_LIST,
        Op.DELIMITED,
        Op.ARRAY,
        Op.PAIRED_ARRAY,
        Op.NEXT,
        Op.NEXT_DELIMITED,
        Op.NEXT_PACKED,
        Op.FIELD,
        Op.GOTO,
        Op.CASE,
        Op.ELEMENTS,
    }
)
ON_SLOTS = frozenset(
    {Op.MASK, Op.UNMASK, Op.FRAME, Op.UNFRAME, Op.MARK, Op.LENGTH_SUFFIX}
    | {Op.SECTION, Op.NESTED_SECTION, Op.LEAVE, Op.KEYS, Op.VALUES}
)
_WITHOUT_COLUMN = frozenset(
    {
        Op.END,
        Op.GOTO,
        Op.REFUSE,
        Op.SKIP,
        Op.EXPECT,
        Op.TAG,
        Op.ROW,
        Op.INSERT_KIND,
        Op.GRAPH,
        Op.NEW,
    }
)


def _instruction(code: int, number: int, argument: int) -> str:
    op = Op(code)
    if op == Op.CASE:
        operand = str(number)
    elif op in ON_SLOTS:
        operand = f"slot {number}"
    else:
        operand = "" if op in _WITHOUT_COLUMN else f"column {number}"
    words = f"{op.name:15} {operand:11}"
    if op in _JUMPS:
        words += f"-> {argument}"
    elif argument:
        words += f"{argument}"
    return words.rstrip()
