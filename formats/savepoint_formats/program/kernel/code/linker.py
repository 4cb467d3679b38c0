"""Links object files to a shared library, by the machine's linker or by that of ``ziglang``."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from savepoint_formats.program.kernel.code.targets import this_machine

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from savepoint_formats.program.kernel.code.targets import Target

_OWN = {".so": "ld", ".dylib": "cc"}
_ELF = ("-shared", "--strip-all", "-z", "noexecstack", "-z", "relro", "-z", "now")
_PE_OFFSET, _TIME_STAMP = 0x3C, 8


def link(objects: Sequence[Path], library: Path, target: Target, *, by_zig: bool = False) -> None:
    """Links a library.

    Args:
        objects: Object files of the target.
        library: The file to write.
        target: The machine that loads the library.
        by_zig: Whether to use ``ziglang`` even if the machine has a linker, so that two machines
            give the same bytes.

    Raises:
        RuntimeError: There is no linker, or it fails.
    """
    command = [*_linker(target, by_zig=by_zig), *_options(target), "-o", str(library)]
    run = subprocess.run(
        [*command, *map(str, objects)], capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise RuntimeError(f"{' '.join(command)}: {run.stderr.strip()}")
    if target.suffix == ".dll":
        _clear_time(library)


def _linker(target: Target, *, by_zig: bool) -> list[str]:
    own = _OWN.get(target.suffix)
    if not by_zig and own and target == this_machine() and shutil.which(own):
        return [own]
    if find_spec("ziglang") is None:
        raise RuntimeError(f"no linker for {target.name}: pip install ziglang")
    return [sys.executable, "-m", "ziglang", *target.linked_by]


def _options(target: Target) -> tuple[str, ...]:
    if target.suffix == ".so":
        return _ELF
    if target.suffix == ".dylib":
        # Its name would be the path of the build.
        return (
            "-dynamiclib",
            "-mmacosx-version-min=11.0",
            "-Wl,-install_name,@rpath/kernels.dylib",
        )
    return ("-shared", "-s")


def _clear_time(library: Path) -> None:
    """Sets the time stamp of a Windows library to 0, because zig's linker always writes one."""
    content = bytearray(library.read_bytes())
    (header,) = struct.unpack_from("<I", content, _PE_OFFSET)
    struct.pack_into("<I", content, header + _TIME_STAMP, 0)
    library.write_bytes(content)
