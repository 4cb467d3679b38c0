"""Functions of tests as machine code, made as the kernels' library is made."""

from __future__ import annotations

import shutil
import tempfile
from ctypes import CDLL
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from savepoint_formats.program.kernel.code.compiler import object_file
from savepoint_formats.program.kernel.code.library import Code
from savepoint_formats.program.kernel.code.linker import link
from savepoint_formats.program.kernel.code.targets import this_machine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def needs_linker() -> None:
    """Skips a test on a machine that can only run the library that its build has linked."""
    if shutil.which("ld") is None and find_spec("ziglang") is None:
        pytest.skip("the machine has no linker: install binutils, or pip install ziglang")


def compiled(function: Callable[..., Any], arguments: Sequence[Any]) -> Code:
    """The function as machine code for arguments of these kinds."""
    needs_linker()
    target, name = this_machine(), "compiled"
    assert target is not None
    with tempfile.TemporaryDirectory() as folder:
        # A library of another name, because one with the name of a loaded one is not loaded.
        object_path, library = Path(folder, "function.o"), Path(folder, f"function{target.suffix}")
        object_path.write_bytes(object_file(function, arguments, name, target))
        link([object_path], library, target)
        return Code(function, CDLL(str(library))[name])
