"""Where nothing links, the error names what does."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from support.compiled import needs_linker

from savepoint_formats.program.kernel.code.linker import link
from savepoint_formats.program.kernel.code.targets import TARGETS, this_machine

if TYPE_CHECKING:
    from pathlib import Path


def test_without_any_linker_the_error_names_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ziglang", None)
    with pytest.raises(RuntimeError, match="no linker for windows-x86_64: pip install ziglang"):
        link([], tmp_path / "kernels.dll", TARGETS["windows-x86_64"])


def test_what_a_linker_says_is_in_the_error(tmp_path: Path) -> None:
    needs_linker()
    target = this_machine()
    assert target is not None
    (tmp_path / "walk.o").write_bytes(b"no object")
    with pytest.raises(RuntimeError, match=r"-o .*kernels\.so: .*walk\.o"):
        link([tmp_path / "walk.o"], tmp_path / "kernels.so", target)
