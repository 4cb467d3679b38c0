"""The library is that of the sources; without one, the same answers come with one warning."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import pytest

import savepoint_formats
from savepoint_formats.program.kernel.code import library as room
from savepoint_formats.program.kernel.code.library import library
from savepoint_formats.program.kernel.code.revision import LIBRARIES, REVISION
from savepoint_formats.program.kernel.code.targets import this_machine
from savepoint_formats.savepoint_warnings import NoMachineCodeWarning

PACKAGE = Path(savepoint_formats.__file__).parent
MEMORY = Path("program", "kernel", "code", "memory.py")
BUILT = Path("program", "kernel", "built")

NATIVE_LONG = "load_native_long = _load(64, is_big=False)"
JAVA_LONG = "load_native_long = _load(64, is_big=True)"

COPY = """
import sys
from array import array
from savepoint_formats.program.kernel.entry_chunks import RangesJob, copy_ranges
data, target, ends = bytearray(b"abcdef"), bytearray(3), array("q", [0])
def address(memory):
    import ctypes
    return ctypes.addressof((ctypes.c_char * len(memory)).from_buffer(memory))
starts, stops = array("q", [1]), array("q", [4])
for _ in range(2):
    result = copy_ranges(RangesJob(
        data=address(data), size=6, starts=starts.buffer_info()[0], ends=stops.buffer_info()[0],
        total=1, target=address(target), capacity=3, offsets=ends.buffer_info()[0],
    ))
print(result, bytes(target), copy_ranges.is_interpreted, "llvmlite" in sys.modules)
"""
WITHOUT_LLVM = "import sys; sys.modules['llvmlite'] = None\n"
REUSING = """
import resource
import numpy as np
from savepoint_formats.program.kernel.code.library import library
library()
pages = []
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    buffers = [np.ones(1 << 20, np.uint8) for _ in range(24)]
    del buffers
    pages.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(pages[-1])
"""
LIMITED = """
import resource
import numpy as np
from savepoint_formats.program.kernel.code.library import library
with open("/proc/self/statm") as pages:
    taken = int(pages.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + (16 << 20),) * 2)
print(library() is not None)
"""
BUILDING = "savepoint: kernels have changed, building their machine code ...\n"


class Run(NamedTuple):
    printed: str
    told: str


def ran(package: Path, script: str = COPY) -> Run:
    """What a process prints that imports the package from a folder or an archive."""
    run = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(package)},
        check=True,
        capture_output=True,
        text=True,
    )
    return Run(run.stdout, run.stderr)


COPIED = "(0, 1) b'bcd' False False\n"
COPIED_BY_PYTHON = "(0, 1) b'bcd' True True\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with the sources and the library, which a test may edit."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / PACKAGE.name, ignore=ignored)
    return tmp_path


def edit(package: Path, before: str = NATIVE_LONG, after: str = JAVA_LONG) -> None:
    source = package / PACKAGE.name / MEMORY
    text = source.read_text(encoding="utf-8")
    assert before in text
    source.write_text(text.replace(before, after), encoding="utf-8")


def test_a_library_in_an_archive_is_loaded_from_memory(package: Path) -> None:
    archive = shutil.make_archive(str(package / "archive"), "zip", package, PACKAGE.name)
    assert ran(Path(archive)) == (COPIED, "")


@pytest.mark.usefixtures("slow")
def test_kernels_that_were_changed_are_built_anew_once(package: Path) -> None:
    edit(package)
    # Positions of longs are read as Java writes them now.
    changed = COPY.replace("print(result", "print(result, starts[0]").replace(
        '"q", [1]', '"q", [0]'
    )
    changed = changed.replace('"q", [4]', '"q", [(3).__lshift__(56)]')
    assert ran(package, changed) == ("(0, 1) 0 b'abc' False False\n", BUILDING)
    assert ran(package, changed) == ("(0, 1) 0 b'abc' False False\n", "")
    assert len(list((package / PACKAGE.name / BUILT).glob("kernels.*"))) == 1


@pytest.mark.usefixtures("slow")
def test_two_processes_build_once(package: Path) -> None:
    shutil.rmtree(package / PACKAGE.name / BUILT)
    environment = os.environ | {"PYTHONPATH": str(package)}
    command = [sys.executable, "-c", COPY]
    running = [
        subprocess.Popen(command, env=environment, stdout=-1, stderr=-1, text=True)
        for _ in range(2)
    ]
    results = [process.communicate() for process in running]
    assert [printed for printed, _ in results] == [COPIED] * 2
    assert sorted(told for _, told in results) == ["", BUILDING]


def test_without_llvm_a_stale_library_is_not_loaded(package: Path) -> None:
    edit(package, NATIVE_LONG, f"{NATIVE_LONG}  # edited")
    printed, told = ran(package, WITHOUT_LLVM + COPY)
    assert printed == COPIED_BY_PYTHON
    assert told.count("NoMachineCodeWarning") == 1
    assert "is missing; pip install llvmlite" in told


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("sample", ["hashmap-canonical", "rocksdb-native"])
def test_without_a_library_the_answers_are_the_same_with_one_warning(
    package: Path, samples: Path, sample: str
) -> None:
    path = str(samples / f"states-2.2.1-{sample}")
    show = (
        "from savepoint_cli.main import main\n"
        f"main(['show', {path!r}, 'stateful.keyed_state'], standalone_mode=False)"
    )
    fast = ran(package, show)
    shutil.rmtree(package / PACKAGE.name / BUILT)
    slow = ran(package, WITHOUT_LLVM + show)
    assert slow.printed == fast.printed != ""
    assert fast.told == ""
    (line,) = slow.told.splitlines()
    assert line.startswith("Warning: no machine code, so that rows take some hundred times as long")


def test_the_library_of_another_machine_is_told_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    target = this_machine()
    assert target is not None
    (tmp_path / target.library_name(REVISION)).write_bytes(b"\x7fELF, of another processor")
    monkeypatch.setattr(room, "LIBRARIES", tmp_path)
    with pytest.warns(NoMachineCodeWarning, match="file too short|invalid ELF|header"):
        assert library.__wrapped__() is None


def test_a_machine_without_a_target_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "this_machine", lambda: None)
    monkeypatch.setattr(room, "name_of_this_machine", lambda: "linux-riscv64")
    with pytest.warns(NoMachineCodeWarning, match="none is made for linux-riscv64"):
        assert library.__wrapped__() is None


def test_the_library_is_there_and_loads_without_a_warning() -> None:
    target = this_machine()
    assert target is not None
    assert isinstance(LIBRARIES, Path)
    assert (LIBRARIES / target.library_name(REVISION)).is_file()
    with warnings.catch_warnings(action="error"):
        assert library.__wrapped__() is not None


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc alone")
def test_buffers_of_a_batch_are_those_of_the_batch_before() -> None:
    assert int(ran(PACKAGE.parent, REUSING).printed) < 600  # of 6,144 pages


@pytest.mark.skipif(sys.platform != "linux", reason="the memory taken is told by Linux alone")
def test_little_memory_is_enough_to_load_the_library() -> None:
    assert ran(PACKAGE.parent, LIMITED).printed == "True\n"


def test_a_build_needs_no_package_but_llvmlite() -> None:
    absent = "import sys; sys.modules |= dict.fromkeys(('numpy', 'pyarrow'))\n"
    build = "from savepoint_formats.program.kernel.code.build import all_kernels\n"
    assert ran(PACKAGE.parent, f"{absent}{build}print(len(all_kernels()) > 0)") == Run("True\n", "")
