"""The shared library of kernels: the build makes it, ctypes loads it.

The name of its file has the revision of the kernels' sources, so a library of other sources is never
loaded. Where kernels were changed, as in a checkout, it is built anew before the first call.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from array import array
from contextlib import contextmanager, suppress
from ctypes import CDLL, c_int64
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from savepoint_formats.program.kernel.code.revision import LIBRARIES, REVISION
from savepoint_formats.program.kernel.code.targets import name_of_this_machine, this_machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

BUILD = "savepoint_formats.program.kernel.code.build"
"""The program that builds the library."""

WAY_OUT = (
    "pip install llvmlite (and ziglang, without a linker) where the package is a folder that you may"
    " write, and the library is built; or install a wheel for this machine"
)

# The largest block by which glibc raises its threshold; its header and a page are part of it.
_LARGEST_BLOCK = (32 << 20) - (64 << 10)

_DEPTH = 3  # from the folder of libraries to that of the package


class Code:
    """A function as machine code; its arguments are named tuples and numbers."""

    def __init__(self, function: Callable[..., Any], call: Any) -> None:
        results = results_of(function)
        self._is_tuple = results is not None
        self._results = [function.__annotations__["return"]] if results is None else results
        self._room = array("q", bytes(8 * len(self._results)))
        self._call = call
        self._call.argtypes, self._call.restype = (c_int64, c_int64), None

    def __call__(self, *arguments: Any) -> Any:
        """Calls the machine code."""
        numbers = array("q", _numbers(arguments))
        results = self._room[:]
        self._call(numbers.buffer_info()[0], results.buffer_info()[0])
        if self._is_tuple:
            return tuple(map(_of_type, self._results, results))
        return _of_type(self._results[0], results[0])


def results_of(function: Callable[..., Any]) -> list[str] | None:
    """The types of a function's results; None unless it returns a tuple."""
    text: str = function.__annotations__["return"]
    names = text.removeprefix("tuple[").removesuffix("]")
    return names.split(", ") if names != text else None


@cache
def library() -> CDLL | None:
    """The library of this machine, built first if it is missing and LLVM is there.

    Returns None, and warns once with the way out, where no library can be loaded.
    """
    target = this_machine()
    if target is None:
        _warn(
            f"none is made for {name_of_this_machine()}", "use another machine for large savepoints"
        )
        return None
    _keep_freed_memory()
    name = target.library_name(REVISION)
    try:
        if isinstance(LIBRARIES, Path):
            return _loaded(LIBRARIES / name)
        return _loaded_from_memory(name, (LIBRARIES / name).read_bytes())
    except OSError as error:
        _warn(str(error), WAY_OUT)
        return None


def _keep_freed_memory() -> None:
    """Makes glibc keep up to 64 MiB of freed buffers for the next ones.

    Otherwise it may return the buffers of each batch to the system, whose new pages can take longer
    than the work in them. glibc's threshold is twice the largest block that was freed.
    """
    with suppress(MemoryError):  # where the process may have little
        bytes(_LARGEST_BLOCK)  # without NumPy, which a build lacks; no page of it is touched


def _loaded(path: Path) -> CDLL:
    if not path.exists():
        _build(path)
    return CDLL(str(path))


def _loaded_from_memory(name: str, content: bytes) -> CDLL:
    """Loads a library that lies in an archive, where the system finds no files."""
    if sys.platform != "linux":
        raise OSError(f"{name} lies in an archive, from which this system loads none")
    memory = os.memfd_create(name)
    try:
        with open(memory, "wb", closefd=False) as file:
            file.write(content)
        return CDLL(f"/proc/self/fd/{memory}")
    finally:
        os.close(memory)


def _build(path: Path) -> None:
    """Builds the library in a process of its own, so that LLVM takes no memory of this one."""
    if find_spec("llvmlite") is None:
        raise OSError(f"{path} is missing")
    path.parent.mkdir(exist_ok=True)
    with _alone(path.parent / ".lock"):
        if path.exists():
            return
        print("savepoint: kernels have changed, building their machine code ...", file=sys.stderr)
        package = path.parents[_DEPTH]
        folders = filter(None, [str(package.parent), os.environ.get("PYTHONPATH")])
        run = subprocess.run(
            [sys.executable, "-P", "-m", BUILD, str(path.parent)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)},
            capture_output=True,
            text=True,
            check=False,
        )
    if run.returncode:
        raise OSError(f"{path} can't be built: {(run.stderr.splitlines() or ['?'])[-1]}")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Waits until no other process is in such a context; Windows doesn't wait."""
    with path.open("wb") as file:
        if sys.platform != "win32":
            import fcntl  # noqa: PLC0415  # Windows doesn't have it

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _warn(reason: str, way_out: str) -> None:
    from savepoint_formats.savepoint_warnings import NoMachineCodeWarning  # noqa: PLC0415  # rarely needed

    message = f"no machine code, so that rows take some hundred times as long: {reason}; {way_out}"
    warnings.warn(message, NoMachineCodeWarning, stacklevel=2)


def _numbers(arguments: Sequence[Any]) -> Iterator[int]:
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from argument
        elif argument is not None:
            yield argument


def _of_type(name: str, number: int) -> Any:
    return None if name == "None" else bool(number) if name == "bool" else number
