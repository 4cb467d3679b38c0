"""The kernel's promises to those who call it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from savepoint_formats import layout as layouts
from savepoint_formats import program as room
from savepoint_formats.layout import Layout, Repeated
from savepoint_formats.program.assembly import program
from savepoint_formats.program.buffers import Buffers
from savepoint_formats.program.kernel import DONE, FULL, REFUSED, Walk, walk

ROOM = Path(room.__file__).parent


def walked(layout: Layout, data: bytes, *, count: int, rows: int, size: int) -> tuple[int, ...]:
    """Status, record, row and position, of records back to back."""
    prepared = program(layout)
    buffers = Buffers(prepared, rows, size)
    content = np.frombuffer(data, np.uint8)
    job = Walk(
        ops=prepared.ops.ctypes.data,
        columns=buffers.table.ctypes.data,
        registers=buffers.registers.ctypes.data,
        data=content.ctypes.data,
        data_end=content.ctypes.data + len(content),
        starts=0,
        ends=0,
        total=count,
        rows=rows,
        record=0,
        row=0,
        position=0,
    )
    return walk(job)


def test_it_stops_behind_the_last_record() -> None:
    assert walked(layouts.Int(), bytes(20), count=3, rows=3, size=12) == (DONE, 3, 3, 12)


def test_it_stops_where_the_rows_end() -> None:
    assert walked(layouts.Int(), bytes(20), count=5, rows=2, size=20) == (FULL, 2, 2, 8)


def test_it_stops_before_a_record_for_which_there_is_no_room() -> None:
    data = b"\0\0\0\1" + bytes(8) + b"\0\0\1\0" + bytes(8 * 256)
    status = walked(Repeated(layouts.Long()), data, count=2, rows=2, size=0)
    assert status == (FULL, 1, 1, 12)


def test_it_stops_before_a_record_that_it_does_not_take() -> None:
    assert walked(layouts.Marker(7), b"\7\7\x08", count=3, rows=3, size=3) == (REFUSED, 2, 2, 2)


def imported(path: Path) -> set[str]:
    """The modules that a module names in its imports, wherever they stand."""
    text = path.read_text(encoding="utf-8")
    return set(re.findall(r"^\s*(?:from|import) ([\w.]+)", text, re.MULTILINE))


def test_three_modules_import_llvm_and_only_the_build_imports_these() -> None:
    package = ROOM.parent
    modules = {
        path.relative_to(package.parent).with_suffix("").as_posix().replace("/", "."): imported(
            path
        )
        for path in package.rglob("*.py")
    }
    code = "savepoint_formats.program.kernel.code."
    translators = {
        name
        for name, names in modules.items()
        if any(each.startswith("llvmlite") for each in names)
    }
    assert translators == {code + name for name in ("compiler", "expressions", "translation")}
    users = {name for name, names in modules.items() if names & translators}
    assert users == {code + name for name in ("build", "compiler", "translation")}
