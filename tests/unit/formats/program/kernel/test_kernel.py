"""The kernel's promises to those who call it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

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


def test_three_modules_import_llvm() -> None:
    package = ROOM.parent
    importing = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"^\s*(from|import) llvmlite", path.read_text(encoding="utf-8"), re.M)
    }
    assert importing == {
        f"program/kernel/code/{name}.py" for name in ("compiler", "expressions", "translation")
    }


@pytest.mark.usefixtures("slow")
def test_machine_code_is_kept_for_other_processes(tmp_path: Path) -> None:
    script = (
        "import numpy as np\n"
        "from savepoint_formats.bytes.chunk import Chunk\n"
        "from savepoint_formats.entries.frames import FramesStart, FramesTable\n"
        "from savepoint_formats.program.kernel import find_frames\n"
        "from savepoint_formats.program.kernel.code.machine_code import ALLOWANCE\n"
        "ALLOWANCE.left = float('-inf')\n"
        "FramesTable(Chunk(np.frombuffer(bytes(6), np.uint8)), 1).add(FramesStart(6), 6)\n"
        "print(find_frames.machine.was_compiled)\n"
    )
    environment = os.environ | {
        "SAVEPOINT_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(ROOM.parents[1]),
    }
    compiled = [
        subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for _ in range(2)
    ]
    assert compiled == ["True", "False"]


def test_little_work_needs_no_machine_code_and_much_of_it_does() -> None:
    script = (
        "import sys\n"
        "import numpy as np\n"
        "from savepoint_formats.bytes.chunk import Chunk\n"
        "from savepoint_formats.entries.frames import FramesStart, FramesTable\n"
        "from savepoint_formats.program.kernel.code.machine_code import SMALL_WORK\n"
        "for size in (16, SMALL_WORK):\n"
        "    section = bytes(2) + b'\\0\\0\\0\\1' + b'\\x80' + size.to_bytes(4, 'big')\n"
        "    section += bytes(size) + b'\\xff\\xff'\n"
        "    chunk = Chunk(np.frombuffer(section, np.uint8))\n"
        "    found = FramesTable(chunk, 1).add(FramesStart(0), len(chunk))\n"
        "    print(len(found), found.is_end, 'llvmlite' in sys.modules)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOM.parents[1])}
    printed = subprocess.run(
        [sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True
    ).stdout
    assert printed.splitlines() == ["1 True False", "1 True True"]


@pytest.mark.usefixtures("slow")
def test_more_work_needs_none_where_it_would_have_to_be_compiled(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "import numpy as np\n"
        "from savepoint_formats.bytes.chunk import Chunk\n"
        "from savepoint_formats.entries.frames import FramesStart, FramesTable\n"
        "from savepoint_formats.program.kernel import find_frames\n"
        "from savepoint_formats.program.kernel.code.machine_code import SMALL_WORK, UNCOMPILED_WORK\n"
        "for size in (SMALL_WORK, UNCOMPILED_WORK):\n"
        "    section = bytes(2) + b'\\0\\0\\0\\1' + b'\\x80' + size.to_bytes(4, 'big')\n"
        "    section += bytes(size) + b'\\xff\\xff'\n"
        "    chunk = Chunk(np.frombuffer(section, np.uint8))\n"
        "    found = FramesTable(chunk, 1).add(FramesStart(0), len(chunk))\n"
        "    print(len(found), find_frames.machine.is_ready)\n"
    )
    environment = os.environ | {
        "SAVEPOINT_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(ROOM.parents[1]),
    }
    printed = [
        subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.splitlines()
        for _ in range(2)
    ]
    assert printed == [["1 False", "1 True"], ["1 True", "1 True"]]
