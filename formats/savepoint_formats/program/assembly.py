"""Lays a layout flat: the instructions of each node, in the order of its bytes.

A node has one column, which it shares with nodes that only wrap it. If a value is null, columns of
texts and lists under it repeat their last end (``PAD``), because each row must have an end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.counts import can_be_empty
from savepoint_formats.program.choice_assembly import assemble_pojo, assemble_tagged, assemble_union
from savepoint_formats.program.general_path import (
    BESIDE_SQL,
    EMPTY_ELEMENTS,
    NOT_DESCRIBED,
    OF_SCALA,
    WHY,
    InexpressibleError,
)
from savepoint_formats.program.graph_tables import GraphTables
from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.program.kryo_assembly import assemble_graph, skip_graph
from savepoint_formats.program.listing import PER_RECORD, Draft, Listing
from savepoint_formats.program.program import Program, Storage
from savepoint_formats.program.scala_assembly import assemble_scala
from savepoint_formats.program.sql_assembly import assemble_section
from savepoint_formats.values import state_entries as entries
from savepoint_formats.values.arrow_types import ROW_KIND, is_nullable_key
from savepoint_formats.values.kinds.precise_times import is_precise
from savepoint_formats.values.kryo.dialect import written_dialect
from savepoint_formats.values.sizes import least_size
from savepoint_formats.values.state_entries import entry_type
from savepoint_formats.values.value_writer import is_null_of_scala

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.layout import Layout
    from savepoint_formats.values.kryo.dialect import KryoDialect
    from savepoint_formats.values.undecoded import Hides

_UNITS_DENSITY = 1.5  # two bytes can hold a unit that is three bytes of UTF-8
_DIGITS_DENSITY = 3.2  # of the shortest BigDecimal with the longest text

_NUMBERS: dict[type[Layout], Op] = {
    layouts.Byte: Op.BYTE,
    layouts.Short: Op.SHORT,
    layouts.Int: Op.INT,
    layouts.Long: Op.LONG,
    layouts.Float: Op.INT,
    layouts.Double: Op.LONG,
    layouts.SqlDate: Op.INT,
    layouts.TimerTimestamp: Op.FLIPPED_LONG,
}
_NULLABLE_NUMBERS: dict[type[Layout], Op] = {
    layouts.JavaDate: Op.JAVA_DATE,
    layouts.LocalDate: Op.LOCAL_DATE,
    layouts.LocalTime: Op.LOCAL_TIME,
}
_NULLABLE_PRECISE: dict[type[Layout], Op] = {
    layouts.SqlTimestamp: Op.SQL_TIMESTAMP,
    layouts.Instant: Op.INSTANT,
    layouts.LocalDateTime: Op.LOCAL_DATE_TIME,
}
_BYTES: dict[type[Layout], tuple[Op, float]] = {
    layouts.Char: (Op.CHAR, _UNITS_DENSITY),
    layouts.MutableText: (Op.MUTABLE_TEXT, _UNITS_DENSITY),
    layouts.JavaUtf: (Op.JAVA_UTF, 1),
    layouts.Utf8: (Op.UTF8, 1),
    layouts.Bytes: (Op.BYTES, 1),
}
_NULLABLE_BYTES: dict[type[Layout], tuple[Op, float]] = {
    layouts.Text: (Op.TEXT, _UNITS_DENSITY),
    layouts.BigInteger: (Op.BIG_INTEGER, _DIGITS_DENSITY),
    layouts.BigDecimal: (Op.BIG_DECIMAL, _DIGITS_DENSITY),
}


def program(
    layout: Layout,
    kryo: KryoDialect | None = None,
    *,
    hides: Hides = "nothing",
    reads_graphs: bool = True,
) -> Program:
    """The program of a layout; every layout has one.

    Args:
        layout: A layout, or one of the nodes of ``state_entries``.
        kryo: The Kryo that wrote its object graphs.
        hides: Content that undecodable bytes may hide if their end is unknown.
        reads_graphs: Whether to emit instructions for object graphs.

    Raises:
        UndecodableError: The layout nests too deep for an Arrow type.
    """
    return Assembly(kryo, has_graphs=reads_graphs).assembled(layout, hides=hides)


def written_program(layout: Layout) -> Program:
    """The program that writes a layout; its object graphs name the Kryo that reads them.

    Raises:
        UndecodableError: The layout nests too deep for an Arrow type.
    """
    return Assembly(written_dialect(layout), writes=True).assembled(layout, hides="all")


class Assembly(Listing):
    """Emits the instructions of a layout."""

    def __init__(
        self,
        kryo: KryoDialect | None,
        *,
        has_graphs: bool = True,
        writes: bool = False,
        tables: GraphTables | None = None,
    ) -> None:
        super().__init__()
        self._has_graphs = has_graphs
        self._skips = tables is not None
        self._tables = GraphTables() if tables is None else tables
        self._frames = 0
        self._kryo = kryo
        self.writes = writes

    def assembled(self, layout: Layout, *, hides: Hides) -> Program:
        """The program of a layout; ``hides`` as in ``program``."""
        root = self.column("$", entry_type(layout), PER_RECORD)
        self.value(layout, root, is_last=True)
        self.emit(Op.END)
        return self.finished(layout, self._kryo, self._tables.finished(), hides=hides)

    def value(self, layout: Layout, draft: Draft, *, is_last: bool) -> None:
        """Emits a value; ``is_last`` if it ends where its record does.

        Raises:
            InexpressibleError: There are no instructions, and it is not the last.
        """
        ops, drafts, needs_end = len(self.ops), len(self.drafts), self.needs_end
        general = len(self.general)
        try:
            self._express(layout, draft, is_last)
        except InexpressibleError as error:
            if not is_last:
                raise
            del self.ops[ops:], self.drafts[drafts:], self.general[general:]
            self.general.append(error.args)
            self.needs_end = needs_end or not self._frames
            draft.storage, draft.layout = Storage.RANGES, layout
            draft.children, draft.names = (), ()
            self.emit(Op.REST, draft.number)

    def _express(  # noqa: PLR0912 - the table of layouts
        self, layout: Layout, draft: Draft, is_last: bool
    ) -> None:
        match layout:
            case layouts.Nullable(inner, is_null, padding):
                flag = self.emit(Op.NULL if is_null else Op.PRESENT, draft.number)
                self.value(inner, draft, is_last=is_last)
                self.after_null(flag, draft, padding)
            case layouts.Repeated(element):
                self._repeated(element, draft)
            case layouts.MapOf(key, value):
                self._map(key, value, draft)
            case layouts.BlockRepeated(element):
                self._block(element, self.elements(draft, 1 / max(1, least_size(element))), draft)
            case layouts.BlockMap(value):
                entry = layouts.Struct(("key", "value"), (layouts.Utf8(), value))
                self._block(entry, self.elements(draft, 1 / least_size(entry)), draft)
            case layouts.MaskedRepeated(element):
                self._masked_repeated(element, draft)
            case layouts.Struct(names, fields):
                self.in_order(fields, self.fields(draft, names), is_last)
            case layouts.Ttl(value):
                parts = (layouts.Long(), value)
                self.in_order(parts, self.fields(draft, ("timestamp", "value")), is_last)
            case layouts.MaskedStruct():
                self._masked_struct(layout, draft, is_last)
            case layouts.Tagged():
                assemble_tagged(layout, draft, self, is_last=is_last)
            case layouts.IndexedUnion():
                assemble_union(layout, draft, self, is_last=is_last)
            case layouts.Pojo():
                assemble_pojo(layout, draft, self, is_last=is_last)
            case layouts.CaseClass() | layouts.Coproduct() | layouts.OfScala():
                if self.writes or not assemble_scala(layout, draft, self):
                    raise InexpressibleError(draft.path, OF_SCALA)
            case layouts.Framed(inner):
                self._framed(inner, draft)
            case layouts.Packed(element, False) if is_last and not can_be_empty(element):
                self._to_end(element, draft, Op.NEXT_PACKED)
            case layouts.Packed(inner, True) | layouts.Varying(inner) | layouts.OfClass(inner):
                self.value(inner, draft, is_last=is_last)
            case layouts.BinaryRow() | layouts.BinaryArray() | layouts.BinaryMap() if is_last:
                self.needs_end |= not self._frames
                assemble_section(layout, draft, self)
            case (
                entries.KeyPrefix()
                | entries.Suffixed()
                | entries.Sized()
                | entries.Delimited()
                | entries.NullableRest()
            ):
                self._entry(layout, draft, is_last)
            case layouts.Kryo():
                self._graph(layout, draft)
            case _:
                self._scalar(layout, draft)

    def _graph(self, layout: layouts.Kryo, draft: Draft) -> None:
        if self._skips and self._kryo is not None:
            skip_graph(layout, self._kryo, draft, self, self._tables)
            return
        dialect = written_dialect(layout) if self.writes else self._kryo
        if not self._has_graphs:
            raise InexpressibleError(draft.path, BESIDE_SQL)
        is_known = dialect is not None and assemble_graph(
            layout, dialect, draft, self, self._tables, writes=self.writes
        )
        if not is_known:
            raise InexpressibleError(draft.path, NOT_DESCRIBED)

    def in_order(self, parts: Sequence[Layout], drafts: Sequence[Draft], is_last: bool) -> None:
        for index, (part, draft) in enumerate(zip(parts, drafts, strict=True)):
            self.value(part, draft, is_last=is_last and index == len(drafts) - 1)

    def _repeated(self, element: Layout, draft: Draft) -> None:
        if can_be_empty(element):
            raise InexpressibleError(draft.path, EMPTY_ELEMENTS)
        column = self.elements(draft, 1 / max(1, least_size(element)))
        with self.repeated(Op.LIST, draft):
            self.value(element, column, is_last=False)

    def _map(self, key: Layout, value: Layout, draft: Draft) -> None:
        if can_be_empty(key) and can_be_empty(value):
            raise InexpressibleError(draft.path, EMPTY_ELEMENTS)
        if isinstance(value, layouts.Nullable):
            self._expect_flagged_null(value.inner, draft)
        entry = self.elements(draft, 1 / max(1, least_size(key) + least_size(value)))
        keys, values = self.fields(entry, ("key", "value"))
        with self.repeated(Op.LIST, draft):
            self.value(key, keys, is_last=False)
            if not is_nullable_key(key):
                self._check_key(keys)
            self.value(value, values, is_last=False)

    def _block(self, element: Layout, column: Draft, draft: Draft) -> None:
        """An Avro block that no other follows."""
        if can_be_empty(element):
            raise InexpressibleError(draft.path, EMPTY_ELEMENTS)
        block = self.emit(Op.BLOCK, draft.number)
        start = self.here()
        self.value(element, column, is_last=False)
        self.emit(Op.NEXT, draft.number, start)
        self.emit(Op.EXPECT)
        block[2] = self.here()

    def _expect_flagged_null(self, value: Layout, draft: Draft) -> None:
        if self.writes and is_null_of_scala(value):
            raise InexpressibleError(draft.path, OF_SCALA)

    def _check_key(self, keys: Draft) -> None:
        if keys.storage == Storage.NOTHING:
            self.emit(Op.REFUSE)
        elif keys.is_nullable:
            self.emit(Op.KEY, keys.number)

    def _masked_repeated(self, element: Layout, draft: Draft) -> None:
        column = self.elements(draft, 8)
        with self.repeated(Op.MASKED_LIST, draft):
            self._masked(element, column, is_last=False)
        self.emit(Op.UNMASK, draft.number)

    def _masked(self, layout: Layout, draft: Draft, *, is_last: bool) -> None:
        flag = self.emit(Op.BIT, draft.number)
        self.value(layout, draft, is_last=is_last)
        self.after_null(flag, draft)

    def _masked_struct(self, layout: layouts.MaskedStruct, draft: Draft, is_last: bool) -> None:
        names = [*layout.names, ROW_KIND] if layout.has_kind else layout.names
        drafts = self.fields(draft, names)
        slot = self.slot()
        self.emit(Op.MASK, slot, len(layout.fields) + 2 * layout.has_kind)
        if layout.has_kind:
            drafts[-1].storage = Storage.ROW_KINDS
            self.emit(Op.MASKED_KIND, drafts[-1].number)
        for index, field in enumerate(layout.fields):
            is_last_field = index == len(layout.fields) - 1
            self._masked(field, drafts[index], is_last=is_last and is_last_field)
        self.emit(Op.UNMASK, slot)

    def _framed(self, inner: Layout, draft: Draft) -> None:
        slot = self.slot()
        self.emit(Op.FRAME, slot)
        self._frames += 1
        self.value(inner, draft, is_last=True)
        self._frames -= 1
        self.emit(Op.UNFRAME, slot)

    def _entry(self, layout: Layout, draft: Draft, is_last: bool) -> None:
        match layout:
            case entries.KeyPrefix(size):
                self.emit(Op.SKIP, 0, size)
            case entries.Suffixed(inner):
                slot = self.slot()
                self.emit(Op.MARK, slot)
                self.value(inner, draft, is_last=False)
                self.emit(Op.LENGTH_SUFFIX, slot)
            case entries.Sized(inner):
                slot = self.slot()
                draft.storage = Storage.NUMBERS
                ignored = self.column(f"({draft.path})", entry_type(inner), draft.parent)
                self.emit(Op.MARK, slot)
                self.value(inner, ignored, is_last=False)
                self.emit(Op.SIZE, draft.number, slot)
            case entries.Delimited(element):
                self._to_end(element, draft, Op.NEXT_DELIMITED)
            case entries.NullableRest(inner):
                self._expect_flagged_null(inner, draft)
                self.needs_end |= not self._frames
                flag = self.emit(Op.NULL_REST, draft.number)
                self.value(inner, draft, is_last=is_last)
                self.after_null(flag, draft)

    def _to_end(self, element: Layout, draft: Draft, following: Op) -> None:
        self.needs_end |= not self._frames
        size = least_size(element)
        column = self.elements(draft, 1 / size if size else 2)
        if_none = self.emit(Op.DELIMITED, draft.number)
        start = self.here()
        self.value(element, column, is_last=False)
        self.emit(following, draft.number, start)
        if_none[2] = self.here()

    def _scalar(self, layout: Layout, draft: Draft) -> None:
        number, kind = draft.number, type(layout)
        if kind in _BYTES or kind in _NULLABLE_BYTES:
            draft.storage = Storage.BYTES
            draft.is_nullable |= kind in _NULLABLE_BYTES
            op, draft.density = _BYTES.get(kind) or _NULLABLE_BYTES[kind]
            self.emit(op, number)
            return
        draft.storage = Storage.NUMBERS
        draft.is_nullable |= kind in _NULLABLE_NUMBERS
        match layout:
            case _ if kind in _NUMBERS:
                self.emit(_NUMBERS[kind], number)
            case _ if kind in _NULLABLE_NUMBERS:
                self.emit(_NULLABLE_NUMBERS[kind], number)
            case layouts.Boolean():
                draft.storage = Storage.BITS
                self.emit(Op.BOOLEAN, number)
            case layouts.DecimalData(precision):
                self.emit(Op.DECIMAL, number, precision)
            case _ if kind in _NULLABLE_PRECISE:
                draft.is_nullable = True
                self.emit(_NULLABLE_PRECISE[kind], number, self.precise(draft).number)
            case layouts.TimestampData(precision):
                seconds = self.precise(draft) if is_precise(draft.type) else draft
                self.emit(Op.TIMESTAMP, seconds.number, precision)
            case layouts.FixedBytes(size):
                draft.storage, draft.density = Storage.BYTES, 1
                self.emit(Op.FIXED_BYTES, number, size)
            case layouts.Enum() if layout.constants:
                self._enum(layout, draft)
            case layouts.Marker(value, text):
                self._marker(draft, value, text)
            case layouts.VoidNamespace():
                self._marker(draft, 0, None)
            case _:
                raise InexpressibleError(draft.path, WHY[kind])

    def _marker(self, draft: Draft, value: int | None, text: str | None) -> None:
        draft.storage = Storage.NOTHING
        if text is not None:
            draft.storage, draft.names = Storage.NAMES, (text,)
            self.emit(Op.CONSTANT, draft.number, 0)
        if value is not None:
            self.emit(Op.EXPECT, 0, value)

    def _enum(self, layout: layouts.Enum, draft: Draft) -> None:
        draft.storage, draft.names = Storage.NAMES, layout.constants
        if not layout.numbers:
            self.emit(Op.ENUM, draft.number, len(layout.constants))
            return
        numbers = layout.numbers[: len(layout.constants)]
        self.emit(Op.NUMBERED_ENUM, draft.number, len(numbers))
        for index, number in enumerate(numbers):
            self.emit(Op.CASE, number, index)
