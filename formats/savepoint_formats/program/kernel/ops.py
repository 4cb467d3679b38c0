"""The instructions that a program consists of; the kernel walks a record by them.

An instruction is three numbers: op, column, argument. The walk knows its position in the record,
where the record (or the frame in it) ends, and which row of the columns it fills. A record with
bytes that do not fit the instructions is left to the general path.

``c`` is a column, ``s`` a slot whose registers keep a state until another instruction restores it,
``-> t`` the next instruction under the condition, ``n`` a number.
"""

from __future__ import annotations

from enum import IntEnum, unique

OP_SIZE = 12
"""The bytes of an instruction."""


@unique
class Op(IntEnum):
    """Codes of instructions."""

    # --- the walk itself
    END = 0
    """The record ends here."""
    GOTO = 1
    """-> t."""
    REFUSE = 2
    """A value that no column can hold."""
    CASE = 3
    """n -> t: an operand of the instruction before it; it stands in the place of ``column``."""

    # --- null or not
    NULL = 4
    """c -> t: a byte that is not 0 says null."""
    PRESENT = 5
    """c -> t: a byte of 0 says null."""
    BIT = 6
    """c -> t: the next bit of the mask says null."""
    POJO = 7
    """c -> t: a byte of flags, 1 for null or 2."""
    VALID = 8
    """c is not null in this row."""
    ABSENT = 9
    """c is null in this row."""
    ZERO = 10
    """c n: a number of n bytes is 0 in this row."""
    PAD = 11
    """c, a column of texts, bytes or lists, is empty in this row."""
    NO_REST = 12
    """c, a column of the general path, is null."""
    KEY = 13
    """c, the key of a map, must not be null in this row."""
    NULL_REST = 14
    """c -> t: as NULL, but a null is followed by bytes without meaning."""

    # --- values of one size
    SKIP = 15
    """n bytes of no interest."""
    EXPECT = 16
    """A byte of n."""
    BOOLEAN = 17
    BYTE = 18
    SHORT = 19
    INT = 20
    """c: 4 bytes, an integer or a float."""
    LONG = 21
    """c: 8 bytes, an integer or a double."""
    FLIPPED_LONG = 22
    """c: i64 with its sign bit flipped."""
    ENUM = 23
    """c n: i32 below n."""
    NUMBERED_ENUM = 24
    """c n: i32, one of the n CASEs that follow; the column gets the case's argument."""
    JAVA_DATE = 25
    SQL_TIMESTAMP = 26
    """c n: n is the column of the seconds, that of the nanoseconds follows it."""
    INSTANT = 27
    """c n: likewise."""
    LOCAL_DATE = 28
    LOCAL_TIME = 29
    LOCAL_DATE_TIME = 30
    """c n: likewise."""
    TIMESTAMP = 31
    """c n: i64 milliseconds; i32 nanoseconds if n, the precision, is above 3.

    Above 6, c is the column of the seconds, that of the nanoseconds follows it.
    """
    DECIMAL = 32
    """c n: of at most n digits; i64 if n <= 18, else i32 size and two's complement."""

    # --- texts and bytes
    CHAR = 33
    TEXT = 34
    """c: varint of units + 1, varint units; 0 is null."""
    MUTABLE_TEXT = 35
    """c: varint of units, varint units."""
    JAVA_UTF = 36
    UTF8 = 37
    BYTES = 38
    FIXED_BYTES = 39
    """c n: n bytes."""
    BIG_INTEGER = 40
    BIG_DECIMAL = 41

    # --- composites
    LIST = 42
    """c: i32 count; -> t if it is 0, else the next instructions for each element."""
    MASKED_LIST = 43
    """c -> t: as LIST; a bit per element, the new mask, follows the count."""
    NEXT = 44
    """c -> t if c has another element."""
    DELIMITED = 45
    """c -> t: as LIST, but without a count: -> t if the record ends here."""
    NEXT_DELIMITED = 46
    """c -> t if the record goes on, with a comma."""
    NEXT_PACKED = 82
    """c -> t if the record goes on."""
    MASK = 47
    """s n: n bits in whole bytes are the mask; s keeps the outer one."""
    UNMASK = 48
    """s: back to the mask before."""
    MASKED_KIND = 49
    """c: the next two bits of the mask are the row's kind, low bit first."""
    FRAME = 50
    """s: i32 size, after which the record ends for a while; s keeps the end before."""
    UNFRAME = 51
    """s: the frame ends here; back to the end before."""
    TAG = 52
    """n: u8, one of the n CASEs that follow."""
    MARK = 53
    """s keeps the position."""
    LENGTH_SUFFIX = 54
    """s: the number of bytes since MARK, little endian, in as few bytes as it needs."""
    SIZE = 55
    """c s: the number of bytes since MARK."""
    REST = 56
    """c: all bytes up to the end, for the general path."""
    CONSTANT = 57
    """c n: the number n."""

    # --- binary rows, arrays and maps of SQL: sections, whose fields do not lie in order
    SECTION = 58
    """s: all bytes up to the end are the section; s keeps the outer one."""
    PIECE = 59
    """s: the section is where the slot says; s keeps the outer one."""
    LEAVE = 60
    """s: back to the section before."""
    ROW = 61
    """n: the section is a row of n fields."""
    ROW_KIND = 62
    """c: the row's kind."""
    INSERT_KIND = 63
    """The row's kind must be 0: nested rows have no column for it."""
    ARRAY = 64
    """c -> t, size = 1, 2, 4 or 8 in the CASE that follows: as LIST, the section is an array."""
    PAIRED_ARRAY = 65
    """c -> t: as ARRAY; it must have as many elements as the array before it, the keys."""
    KEYS = 66
    """s: the section is a map; the new one its keys, s keeps its values and the one before."""
    VALUES = 67
    """s: the section is the values of s."""
    FIELD = 68
    """c: the slot is the next one; -> t if its bit says null."""
    SLOT_BOOLEAN = 69
    SLOT_BYTE = 70
    SLOT_SHORT = 71
    SLOT_INT = 72
    SLOT_LONG = 73
    SLOT_TIME = 74
    """c: i32 milliseconds of a day."""
    SLOT_TEXT = 75
    SLOT_BYTES = 76
    """c: bytes in the slot, or where it says."""
    SLOT_RAW = 77
    """c: bytes where the slot says."""
    SLOT_DECIMAL = 78
    """c n: of at most n digits."""
    SLOT_TIMESTAMP = 79
    """c n: of precision n; c as in TIMESTAMP."""
    SLOT_PIECE = 80
    """c: as REST, the bytes where the slot says."""

    # --- Avro
    BLOCK = 81
    """c: as LIST, the count is a varint; an EXPECT of 0, the end of all blocks, follows NEXT."""

    # --- objects of Kryo; what differs between its versions goes by that of the graph
    GRAPH = 83
    """t n: a graph of Kryo 5 with the classes t begins, or of 2 if n is 0: all is numbered anew."""
    OBJECT = 84
    """c n: an object of c, or null: what leads it depends on the CASE that follows.

    | CASE         | column                                         | argument                    |
    |--------------|------------------------------------------------|-----------------------------|
    | the first    | a form of ``kryo_objects``; or that of a list, | -> t if it is null          |
    |              | which its own column knows                     |                             |
    | each of n    | a class                                        | -> t if the object is of it |
    """
    SKIP_GRAPH = 105
    """t n: a whole graph, as the tables t tell what is in classes; n as in GRAPH."""
    JSON = 106
    """c n: an object of any known class, in which n objects may be in each other, as JSON.

    The CASE that follows has the lead in place of the column, as in OBJECT; and the class if the lead
    does not tell it, -1, or -2 if null is a text, too.
    """
    GRAPH_BYTES = 107
    """c: the bytes of the graph that ends here."""
    ELEMENTS = 85
    """c -> t: as LIST, counted as the CASE that follows says: a form of ``kryo_objects``, -> t."""
    PART = 86
    """c n: a number of kind n, see ``kryo_numbers``, is part c of what follows."""
    CUT_CLOCK = 87
    """c: hour, minute, second and nanoseconds of Kryo 5 are the parts from c on."""
    NEW = 88
    """The mark of an object that is new, and has no column."""
    NUMBER = 89
    """c n: a number of kind n; of this op on, each ends a value."""
    STRICT_BOOLEAN = 90
    """c: a byte of 0 or 1."""
    UNIT = 91
    """c: a UTF-16 unit."""
    ASCII_TEXT = 92
    """c: a text; or null."""
    CONSTANT_INDEX = 93
    """c n: one of n constants + 1; 0 is null."""
    COUNTED_BYTES = 94
    """c: varint of the count + 1; 0 is null."""
    WHOLE_NUMBER = 95
    """c: varint of the count of bytes + 1, 0 is null; two's complement."""
    EXACT_NUMBER = 96
    """c: as WHOLE_NUMBER, and the scale."""
    OPTIONAL = 97
    """c n: a flag; a number of kind n, which 5.6 has only if the flag is set; or null."""
    UUID = 98
    """c: of its two halves."""
    MILLIS_AND_NANOS = 99
    """c n: n is the column of the seconds, that of the nanoseconds follows it."""
    SECONDS_AND_NANOS = 100
    """c n: likewise."""
    DURATION = 101
    """c: of seconds and nanoseconds."""
    DATE = 102
    """c: of year, month and day."""
    CLOCK = 103
    """c: of hour, minute, second and nanoseconds."""
    DATE_AND_CLOCK = 104
    """c n: of all seven; n as above."""

    MOMENT_TEXT = 109
    """c n: a text with the content n of ``moment_texts``, of the parts from 0 on."""

    # --- only written
    CLASS = 108
    """c n: a POJO of c, by the name of its class.

    | CASE         | column                                         | argument                    |
    |--------------|------------------------------------------------|-----------------------------|
    | the first    | the column of the names                        | -> t if c is null           |
    | each of n    | the number of the name, in order               | -> t if c has it            |
    """
