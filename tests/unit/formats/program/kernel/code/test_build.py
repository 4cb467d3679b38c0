"""The library that the build makes: what it exports and needs, and that it is always the same."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.compiled import needs_linker
from support.library_symbols import needed, symbols

from savepoint_formats.program.kernel.code import build
from savepoint_formats.program.kernel.code.library import BUILD
from savepoint_formats.program.kernel.code.revision import LIBRARIES, REVISION
from savepoint_formats.program.kernel.code.targets import TARGETS, this_machine

if TYPE_CHECKING:
    from savepoint_formats.program.kernel.code.targets import Target


@pytest.fixture(scope="module")
def target() -> Target:
    target = this_machine()
    assert target is not None
    return target


@pytest.fixture(scope="module")
def library(target: Target) -> Path:
    """The library that all tests call."""
    assert isinstance(LIBRARIES, Path)
    return LIBRARIES / target.library_name(REVISION)


def names_in_sources() -> set[str]:
    """Functions that a module of kernels marks as entries."""
    package = Path(build.__file__).parents[3]
    pattern = re.compile(r"^@entry\ndef (\w+)", re.MULTILINE)
    return {
        name
        for path in package.rglob("*.py")
        for name in pattern.findall(path.read_text(encoding="utf-8"))
    }


def test_it_exports_each_entry_and_nothing_else(library: Path) -> None:
    assert len(names_in_sources()) >= 19
    assert symbols(library).exported == names_in_sources()


def test_it_needs_memcpy_alone_and_no_other_library(library: Path) -> None:
    if library.suffix != ".so":
        pytest.skip("only a library of Linux says so")
    assert symbols(library).undefined == {"memcpy"}
    assert needed(library) == 0


def test_no_instruction_is_newer_than_its_target(library: Path, target: Target) -> None:
    """Registers of 256 bits came with AVX, which the first x86-64 does not have."""
    if target.name != "linux-x86_64" or shutil.which("objdump") is None:
        pytest.skip("objdump, of the package binutils, shows instructions of x86-64")
    shown = subprocess.run(
        ["objdump", "--disassemble", str(library)], check=True, capture_output=True, text=True
    ).stdout
    assert "xmm" in shown
    assert re.findall(r"%[yz]mm\d+", shown) == []


@pytest.mark.usefixtures("slow")
def test_two_builds_give_the_same_bytes(library: Path, target: Target, tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", BUILD, str(tmp_path / "built")]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    again = Path(run.stdout.strip())
    assert again == tmp_path / "built" / target.library_name(REVISION)
    assert again.read_bytes() == library.read_bytes()


def test_a_build_removes_libraries_of_other_revisions(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_linker()
    (kernel,) = (each for each in build.all_kernels() if each.function.__name__ == "copy_ranges")
    monkeypatch.setattr(build, "all_kernels", lambda: [kernel])
    other = next(each for each in TARGETS.values() if each != target)
    old, foreign = target.library_name(7), other.library_name(7)
    for name in (old, foreign):
        (tmp_path / name).touch()
    made = build.build(tmp_path, target)
    assert {path.name for path in tmp_path.iterdir()} == {made.name, foreign}
    assert symbols(made).exported == {"copy_ranges"}
