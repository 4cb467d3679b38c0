"""Jobs of walks that read and write, and registers with what is restored after nested values.

A value nests as deep as the program says, so each slot has registers of its own, eight numbers:

| register | of                                                                            |
|----------|-------------------------------------------------------------------------------|
| 0        | lists: elements to come; frames: the outer end; marks: the position           |
| 1        | lists: the outer row                                                          |
| 2        | masks: the outer mask, the address of its next bit                            |
| 2, 3     | lists of objects of Kryo: the lead of the elements, the CASE of their class   |
| 3 to 7   | sections: the outer one, its end, next slot, size of slots, next null bit     |
| 0, 1     | maps of SQL: where the values begin and end                                   |
"""

from __future__ import annotations

from typing import NamedTuple

REGISTERS_SIZE = 64


class Walk(NamedTuple):
    """Work of a walk; the fields from ``ops`` to ``ends`` are addresses."""

    ops: int  # the program
    columns: int  # the table of buffers
    registers: int  # a row per column and slot of the program
    data: int  # the bytes
    data_end: int
    starts: int  # i64 per record, positions in data; 0 if records lie back to back
    ends: int
    total: int  # number of records
    rows: int  # number of rows that the columns have room for
    record: int  # the next record
    row: int  # its row
    position: int  # its position in data, if records lie back to back


class Graphs(NamedTuple):
    """Addresses that objects of Kryo need."""

    tables: int  # the tables of classes, see ``kryo_objects``
    memory: int  # of the current graph, see ``kryo_objects`` and ``written_kryo``
    ended: int = 0  # two numbers per record, if a walk goes on behind any, see ``note_end``


class RecordsJob(NamedTuple):
    """Rows to write; all but the numbers are addresses."""

    ops: int  # the program
    columns: int  # the table of columns to encode
    registers: int  # a row per column and slot of the program
    data: int  # where the records go
    offsets: int  # i64 per record and one more: where the record begins in data
    total: int  # number of records
    record: int  # the next record
