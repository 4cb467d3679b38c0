"""Machine code that is kept for other processes is that of the present sources."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import savepoint_formats
from savepoint_formats.program.kernel.code import revision

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Path(savepoint_formats.__file__).parent
SOURCES = [Path(str(source)) for source in revision.SOURCES]
MEMORY = "program/kernel/code/memory.py"

NATIVE_LONG = "load_native_long = _load(64, is_big=False)"
JAVA_LONG = "load_native_long = _load(64, is_big=True)"

READ_LONG = """
from savepoint_formats.program.kernel.columns import values as kernel
number = np.arange(8, dtype=np.uint8)
tell(kernel, number.ctypes.data)
"""
ALL = f"""
{READ_LONG}
from savepoint_formats.state_files.rocksdb.stream_kernel import kind_of as kernel
tell(kernel, 1, 0)
from savepoint_formats.state_files.rocksdb.sst_kernel import read_varint as kernel
tell(kernel, np.arange(4, dtype=np.uint8).ctypes.data, 0, 4)
from savepoint_formats.program.kernel.entry_chunks import RangesJob, copy_ranges
tell(copy_ranges.function, RangesJob(*[0] * len(RangesJob._fields)))
"""
TELL = """
import numpy as np
from savepoint_formats.program.kernel.code.machine_code import Kernel
def tell(function, *arguments):
    kernel = Kernel(function)
    print(kernel(*arguments), int(not kernel.machine.was_compiled))
"""

KEPT = """
from savepoint_formats.program.kernel.code.machine_code import KERNELS, load_kernels
from savepoint_formats.program.kernel.entry_chunks import RangesJob, copy_ranges
load_kernels()
loaded = [kernel.function.__name__ for kernel in KERNELS if not kernel.is_spared(0)]
if not copy_ranges.machine.is_ready:
    copy_ranges.machine.compile([RangesJob(*[0] * len(RangesJob._fields))])
print(loaded, copy_ranges.machine.was_compiled)
"""


def ran(package: Path, script: str) -> tuple[list[str], list[int]]:
    """Results of kernels with the sources of a folder, and how often each used cached code."""
    environment = os.environ | {
        "SAVEPOINT_CACHE_DIR": str(package / "cache"),
        "PYTHONPATH": str(package),
    }
    printed = subprocess.run(
        [sys.executable, "-c", TELL + script],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    told = [line.rsplit(" ", 1) for line in printed.splitlines()]
    return [answer for answer, _ in told], [int(hits) for _, hits in told]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with the sources, which a test may edit."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / PACKAGE.name, ignore=ignored)
    return tmp_path


@pytest.mark.usefixtures("slow")
def test_an_edit_of_what_kernels_share_has_them_compiled_anew(package: Path) -> None:
    before, _ = ran(package, ALL)
    assert ran(package, ALL) == (before, [1] * 4)
    shared = package / PACKAGE.name / MEMORY
    shared.write_text(shared.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    assert ran(package, ALL) == (before, [0] * 4)


@pytest.mark.usefixtures("slow")
def test_an_edit_of_what_kernels_share_is_what_runs(package: Path) -> None:
    (before,), _ = ran(package, READ_LONG)
    assert before == str(int.from_bytes(bytes(range(8)), "little"))
    shared = package / PACKAGE.name / MEMORY
    text = shared.read_text(encoding="utf-8")
    assert NATIVE_LONG in text
    shared.write_text(text.replace(NATIVE_LONG, JAVA_LONG), encoding="utf-8")
    (after,), _ = ran(package, READ_LONG)
    assert after == str(int.from_bytes(bytes(range(8)), "big"))


@pytest.mark.usefixtures("slow")
def test_what_is_kept_is_loaded_without_a_call(tmp_path: Path) -> None:
    """The first process finds nothing, and compiles when it calls; the second has it before."""
    environment = os.environ | {"SAVEPOINT_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", KEPT]
    printed = [
        subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout
        for _ in range(2)
    ]
    assert printed == [b"[] True\n", b"['copy_ranges'] False\n"]


def give_away(folder: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a folder to another user")
    os.chown(folder, 12345, -1)


def link(folder: Path) -> None:
    moved = folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(moved)


def let_all_write(folder: Path) -> None:
    folder.chmod(0o777)


def let_the_group_write(folder: Path) -> None:
    folder.chmod(0o770)


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    ("variable", "share"),
    [
        ("SAVEPOINT_CACHE_DIR", let_all_write),
        ("SAVEPOINT_CACHE_DIR", let_the_group_write),
        ("SAVEPOINT_CACHE_DIR", link),
        ("XDG_CACHE_HOME", give_away),
        ("HOME", give_away),
    ],
)
def test_code_that_another_user_could_write_is_not_run(
    tmp_path: Path, variable: str, share: Callable[[Path], None]
) -> None:
    names = ("SAVEPOINT_CACHE_DIR", "XDG_CACHE_HOME", "HOME")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment[variable] = str(tmp_path / "cache")
    # An archive has no folder of its own for machine code.
    archive = shutil.make_archive(str(tmp_path / "package"), "zip", PACKAGE.parent, PACKAGE.name)
    environment["PYTHONPATH"] = archive
    command = [sys.executable, "-c", KEPT]

    def printed() -> bytes:
        return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout

    assert [printed(), printed()] == [b"[] True\n", b"['copy_ranges'] False\n"]
    (stored,) = (tmp_path / "cache").rglob("*.o")
    share(stored.parent)
    assert printed() == b"[] True\n"


def test_the_revision_is_that_of_all_that_is_compiled() -> None:
    """Who compiles, and all modules of ours that such a module imports, are among its sources."""
    sources = {path.relative_to(PACKAGE).as_posix() for path in SOURCES}
    compiled = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(
            r"^@(entry|light_entry|part)\b", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    assert {"program/kernel/walk.py", "state_files/rocksdb/stream_kernel.py"} < compiled
    assert compiled <= sources
    assert {one for path in SOURCES for one in imported(path)} <= sources


def test_an_archive_of_the_package_has_the_same_revision(package: Path) -> None:
    archive = shutil.make_archive(str(package / "archive"), "zip", package, PACKAGE.name)
    script = "from savepoint_formats.program.kernel.code import revision as r; print(r.__file__, r.REVISION)"
    environment = os.environ | {"PYTHONPATH": archive}
    command = [sys.executable, "-c", script]
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert printed.stdout.startswith(archive)
    assert printed.stdout.split()[-1] == str(revision.REVISION)


def imported(path: Path) -> set[str]:
    """The modules of the package that a module imports when it runs, as paths."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE.name + "."):
            place = "/".join(str(node.module).split(".")[1:])
            is_package = (PACKAGE / place).is_dir()
            names = [f"{place}/{one.name}" for one in node.names] if is_package else [place]
            found |= {f"{name}.py" for name in names}
    return found


@pytest.mark.usefixtures("slow")
def test_a_process_that_can_keep_nothing_compiles_once(package: Path) -> None:
    """As in a container: the package cannot be written, and there is no folder for a cache."""
    script = (
        "import numpy as np\n"
        "from savepoint_formats.bytes.chunk import Chunk\n"
        "from savepoint_formats.entries.frames import FramesStart, FramesTable\n"
        "from savepoint_formats.program.kernel import find_frames\n"
        "from savepoint_formats.program.kernel.code.machine_code import ALLOWANCE\n"
        "ALLOWANCE.left = float('-inf')\n"
        "chunk = Chunk(np.frombuffer(b'\\xff' * 2, np.uint8))\n"
        "found = [FramesTable(chunk, 1).add(FramesStart(0), 2).is_end for _ in range(2)]\n"
        "print(*found, find_frames.machine.was_compiled)\n"
    )
    # A folder cannot be made where a file lies; that holds for root too.
    kernel = package / PACKAGE.name / "program" / "kernel"
    blocked = package / "file"
    blocked.touch()
    (kernel / "__pycache__").touch()
    environment = {
        name: value for name, value in os.environ.items() if name != "SAVEPOINT_CACHE_DIR"
    }
    environment |= {
        "HOME": str(blocked),
        "XDG_CACHE_HOME": str(blocked),
        "PYTHONPATH": str(package),
    }
    printed = subprocess.run(
        [sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True
    ).stdout
    assert printed.split() == ["True", "True", "True"]
    assert not list(package.rglob("*.o"))
