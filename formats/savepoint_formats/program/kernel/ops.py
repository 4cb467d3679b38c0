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
    NULL_REST = 6
    """c -> t: as NULL, but a null is followed by bytes without meaning."""
    BIT = 7
    """c -> t: the next bit of the mask says null."""
    POJO = 8
    """c -> t: a byte of flags, 1 for null or 2."""
    VALID = 9
    """c is not null in this row."""
    ABSENT = 10
    """c is null in this row."""
    ZERO = 11
    """c n: a number of n bytes is 0 in this row."""
    PAD = 12
    """c, a column of texts, bytes or lists, is empty in this row."""
    NO_REST = 13
    """c, a column of the general path, is null."""
    KEY = 14
    """c, the key of a map, must not be null in this row."""

    # --- composites
    LIST = 15
    """c: i32 count; -> t if it is 0, else the next instructions for each element."""
    MASKED_LIST = 16
    """c -> t: as LIST; a bit per element, the new mask, follows the count."""
    NEXT = 17
    """c -> t if c has another element."""
    DELIMITED = 18
    """c -> t: as LIST, but without a count: -> t if the record ends here."""
    NEXT_DELIMITED = 19
    """c -> t if the record goes on, with a comma."""
    NEXT_PACKED = 20
    """c -> t if the record goes on."""
    MASK = 21
    """s n: n bits in whole bytes are the mask; s keeps the outer one."""
    UNMASK = 22
    """s: back to the mask before."""
    MASKED_KIND = 23
    """c: the next two bits of the mask are the row's kind, low bit first."""
    FRAME = 24
    """s: i32 size, after which the record ends for a while; s keeps the end before."""
    UNFRAME = 25
    """s: the frame ends here; back to the end before."""
    TAG = 26
    """n: u8, one of the n CASEs that follow."""
    NUMBERED_ENUM = 27
    """c n: i32, one of the n CASEs that follow; the column gets the case's argument."""
    CLASS = 28
    """c n: a POJO of c, by the name of its class; only written.

    | CASE         | column                                         | argument                    |
    |--------------|------------------------------------------------|-----------------------------|
    | the first    | the column of the names                        | -> t if c is null           |
    | each of n    | the number of the name, in order               | -> t if c has it            |
    """
    MARK = 29
    """s keeps the position."""
    LENGTH_SUFFIX = 30
    """s: the number of bytes since MARK, little endian, in as few bytes as it needs."""
    SIZE = 31
    """c s: the number of bytes since MARK."""
    REST = 32
    """c: all bytes up to the end, for the general path."""

    # --- Avro
    BLOCK = 33
    """c: as LIST, the count is a varint; an EXPECT of 0, the end of all blocks, follows NEXT."""

    # --- binary rows, arrays and maps of SQL: sections, whose fields do not lie in order
    SECTION = 34
    """s: all bytes up to the end are the section; s keeps the outer one."""
    NESTED_SECTION = 35
    """s: the section is where the slot says; s keeps the outer one."""
    LEAVE = 36
    """s: back to the section before."""
    ROW = 37
    """n: the section is a row of n fields."""
    ROW_KIND = 38
    """c: the row's kind."""
    INSERT_KIND = 39
    """The row's kind must be 0: nested rows have no column for it."""
    ARRAY = 40
    """c -> t, size = 1, 2, 4 or 8 in the CASE that follows: as LIST, the section is an array."""
    PAIRED_ARRAY = 41
    """c -> t: as ARRAY; it must have as many elements as the array before it, the keys."""
    KEYS = 42
    """s: the section is a map; the new one its keys, s keeps its values and the one before."""
    VALUES = 43
    """s: the section is the values of s."""
    FIELD = 44
    """c: the slot is the next one; -> t if its bit says null."""

    # --- values of one size
    SKIP = 45
    """n bytes of no interest."""
    EXPECT = 46
    """A byte of n."""
    CONSTANT = 47
    """c n: the number n."""
    BOOLEAN = 48
    BYTE = 49
    SHORT = 50
    INT = 51
    """c: 4 bytes, an integer or a float."""
    LONG = 52
    """c: 8 bytes, an integer or a double."""
    FLIPPED_LONG = 53
    """c: i64 with its sign bit flipped."""
    ENUM = 54
    """c n: i32 below n."""
    JAVA_DATE = 55
    SQL_TIMESTAMP = 56
    """c n: n is the column of the seconds, that of the nanoseconds follows it."""
    INSTANT = 57
    """c n: likewise."""
    LOCAL_DATE = 58
    LOCAL_TIME = 59
    LOCAL_DATE_TIME = 60
    """c n: likewise."""
    TIMESTAMP = 61
    """c n: i64 milliseconds; i32 nanoseconds if n, the precision, is above 3.

    Above 6, c is the column of the seconds, that of the nanoseconds follows it.
    """
    DECIMAL = 62
    """c n: of at most n digits; i64 if n <= 18, else i32 size and two's complement."""

    # --- texts and bytes
    CHAR = 63
    TEXT = 64
    """c: varint of units + 1, varint units; 0 is null."""
    MUTABLE_TEXT = 65
    """c: varint of units, varint units."""
    JAVA_UTF = 66
    UTF8 = 67
    BYTES = 68
    FIXED_BYTES = 69
    """c n: n bytes."""
    BIG_INTEGER = 70
    BIG_DECIMAL = 71

    # --- values of sections
    SLOT_BOOLEAN = 72
    SLOT_BYTE = 73
    SLOT_SHORT = 74
    SLOT_INT = 75
    SLOT_LONG = 76
    SLOT_TIME = 77
    """c: i32 milliseconds of a day."""
    SLOT_TEXT = 78
    SLOT_BYTES = 79
    """c: bytes in the slot, or where it says."""
    SLOT_RAW = 80
    """c: bytes where the slot says."""
    SLOT_DECIMAL = 81
    """c n: of at most n digits."""
    SLOT_TIMESTAMP = 82
    """c n: of precision n; c as in TIMESTAMP."""
    SLOT_RANGE = 83
    """c: as REST, the bytes where the slot says."""

    # --- objects of Kryo; what differs between its versions goes by that of the graph
    GRAPH = 84
    """t n: a graph of Kryo 5 with the classes t begins, or of 2 if n is 0: all is numbered anew."""
    OBJECT = 85
    """c n: an object of c, or null: what leads it depends on the CASE that follows.

    | CASE         | column                                         | argument                    |
    |--------------|------------------------------------------------|-----------------------------|
    | the first    | a form of ``kryo_objects``; or that of a list, | -> t if it is null          |
    |              | which its own column knows                     |                             |
    | each of n    | a class                                        | -> t if the object is of it |
    """
    JSON = 86
    """c n: an object of any known class, in which n objects may be in each other, as JSON.

    The CASE that follows has the lead in place of the column, as in OBJECT; and the class if the lead
    does not tell it, -1, -2 if null is a text, too, or -3 if nobody reads the JSON.
    """
    GRAPH_BYTES = 87
    """c: the bytes of the graph that ends here."""
    ELEMENTS = 88
    """c -> t: as LIST, counted as the CASE that follows says: a form of ``kryo_objects``, -> t."""
    PART = 89
    """c n: a number of kind n, see ``kryo_numbers``, is part c of what follows."""
    CUT_CLOCK = 90
    """c: hour, minute, second and nanoseconds of Kryo 5 are the parts from c on."""
    NEW = 91
    """The mark of an object that is new, and has no column."""

    # --- values of such objects
    NUMBER = 92
    """c n: a number of kind n; of this op on, each ends a value."""
    STRICT_BOOLEAN = 93
    """c: a byte of 0 or 1."""
    UNIT = 94
    """c: a UTF-16 unit."""
    ASCII_TEXT = 95
    """c: a text; or null."""
    CONSTANT_INDEX = 96
    """c n: one of n constants + 1; 0 is null."""
    COUNTED_BYTES = 97
    """c: varint of the count + 1; 0 is null."""
    WHOLE_NUMBER = 98
    """c: varint of the count of bytes + 1, 0 is null; two's complement."""
    EXACT_NUMBER = 99
    """c: as WHOLE_NUMBER, and the scale."""
    OPTIONAL = 100
    """c n: a flag; a number of kind n, which 5.6 has only if the flag is set; or null."""
    MOMENT_TEXT = 101
    """c n: a text with the content n of ``moment_texts``, of the parts from 0 on."""
    UUID = 102
    """c: of its two halves."""
    MILLIS_AND_NANOS = 103
    """c n: n is the column of the seconds, that of the nanoseconds follows it."""
    SECONDS_AND_NANOS = 104
    """c n: likewise."""
    DURATION = 105
    """c: of seconds and nanoseconds."""
    DATE = 106
    """c: of year, month and day."""
    CLOCK = 107
    """c: of hour, minute, second and nanoseconds."""
    DATE_AND_CLOCK = 108
    """c n: of all seven; n as above."""
