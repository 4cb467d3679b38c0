"""The kernel: everything about columns that is compiled.

The build makes a library of it: ``translation`` tells LLVM what it means, ``compiler`` makes machine
code of that. ``walk`` runs a program
over records, ``walk_kryo`` over objects of Kryo; ``write_records`` and ``write_graphs`` go the other way.
``find_frames`` finds the records of key-group sections, ``assign_rows`` their rows; ``find_chunks``
and ``copy_chunks`` divide large work.
Each takes a job, a named tuple of addresses and numbers. They allocate nothing, raise nothing and touch
no Python object. The first number that they return is a status.
"""

from savepoint_formats.program.kernel.columns import ENTRY_SIZE, SLACK
from savepoint_formats.program.kernel.distinct_hashes import DistinctHashesJob, hash_distinctly
from savepoint_formats.program.kernel.entry_chunks import (
    ChunksJob,
    RangesJob,
    copy_chunks,
    copy_ranges,
    find_chunks,
)
from savepoint_formats.program.kernel.hash_codes import HashJob, hash_bytes, hash_lists, hash_texts
from savepoint_formats.program.kernel.key_lookup import EMPTY, KeyRowsJob, assign_rows
from savepoint_formats.program.kernel.kryo.json_numbers import powers_of_ten
from savepoint_formats.program.kernel.kryo.kryo_instructions import PASSED
from savepoint_formats.program.kernel.kryo.kryo_objects import GRAPH_SIZE, NAME_TABLE, POWERS
from savepoint_formats.program.kernel.runs import RunsJob, size_runs, write_runs
from savepoint_formats.program.kernel.section_walk import (
    BAD_SIZE,
    CUT,
    FRAMES_FIELDS,
    NO_STATE,
    UNKNOWN_STATE,
    FramesJob,
    find_frames,
)
from savepoint_formats.program.kernel.status import DONE, FULL, REFUSED
from savepoint_formats.program.kernel.walk import walk, walk_kryo
from savepoint_formats.program.kernel.walk_job import REGISTERS_SIZE, Graphs, RecordsJob, Walk
from savepoint_formats.program.kernel.written_records import write_graphs, write_records
