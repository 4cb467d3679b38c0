"""Functions of tests as machine code, made as the kernels' library is made."""

from __future__ import annotations

import tempfile
from ctypes import CDLL
from pathlib import Path
from typing import TYPE_CHECKING, Any

from savepoint_formats.program.kernel.code.compiler import object_file
from savepoint_formats.program.kernel.code.library import Code
from savepoint_formats.program.kernel.code.linker import link
from savepoint_formats.program.kernel.code.targets import this_machine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def compiled(function: Callable[..., Any], arguments: Sequence[Any]) -> Code:
    """The function as machine code for arguments of these kinds."""
    target, name = this_machine(), "compiled"
    assert target is not None
    with tempfile.TemporaryDirectory() as folder:
        # A library of another name, because one with the name of a loaded one is not loaded.
        object_path, library = Path(folder, "function.o"), Path(folder, f"function{target.suffix}")
        object_path.write_bytes(object_file(function, arguments, name, target))
        link([object_path], library, target)
        return Code(function, CDLL(str(library))[name])
