"""Machine code of functions of the kernel, kept for other processes. LLVM makes it."""

from __future__ import annotations

import os
import platform
import tempfile
import zlib
from array import array
from contextlib import suppress
from ctypes import CFUNCTYPE, c_int64
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llvmlite
from llvmlite import binding as llvm

from savepoint_formats.program.kernel.code.expressions import results_of
from savepoint_formats.program.kernel.code.own_folder import is_trusted, own_folder
from savepoint_formats.program.kernel.code.revision import PACKAGE_FOLDER, REVISION
from savepoint_formats.program.kernel.code.translation import translate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CACHE = "SAVEPOINT_CACHE_DIR"
"""The variable that names the folder of machine code."""

_CHECKSUM_SIZE = 4
_OPTIMIZATION = 3
_HELD: list[Any] = []
"""The owner of the memory of machine code, for as long as the process lives."""


class MachineCode:
    """A function as machine code: loaded, or compiled when it is first called."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function = function
        self._name = name
        results = results_of(function)
        self._is_tuple = results is not None
        self._results = [function.__annotations__["return"]] if results is None else results
        self._room = array("q", bytes(8 * len(self._results)))
        self._call: Callable[[int, int], None] | None = None
        self.was_compiled = False

    @property
    def is_ready(self) -> bool:
        """Whether it can be called."""
        return self._call is not None

    def __call__(self, *arguments: Any) -> Any:
        """Calls the machine code, which has been loaded or compiled."""
        assert self._call is not None
        given = array("q", _numbers(arguments))
        results = self._room[:]
        self._call(given.buffer_info()[0], results.buffer_info()[0])
        if self._is_tuple:
            return tuple(map(_of_type, self._results, results))
        return _of_type(self._results[0], results[0])

    def load(self) -> bool:
        """Loads what another process has stored; returns whether it can be called."""
        if self.is_ready:
            return True
        for folder in _folders():
            with suppress(OSError):
                stored = (folder / self._file).read_bytes()
                code = stored[_CHECKSUM_SIZE:]
                if zlib.crc32(code).to_bytes(_CHECKSUM_SIZE, "big") == stored[:_CHECKSUM_SIZE]:
                    self._use(code)
                    return True
        return False

    def compile(self, arguments: Sequence[Any]) -> None:
        """Makes machine code for arguments of these kinds, and stores it if possible."""
        code = _optimized(str(translate(self._function, arguments, self._name)))
        for folder in _folders():
            with suppress(OSError):
                _write(folder / self._file, zlib.crc32(code).to_bytes(_CHECKSUM_SIZE, "big") + code)
                break
        self._use(code)
        self.was_compiled = True

    @property
    def _file(self) -> str:
        return f"{self._name}-{REVISION:08x}-{_machine():08x}.o"

    def _use(self, code: bytes) -> None:
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        _HELD.append(engine)
        address = engine.get_function_address(self._name)
        self._call = CFUNCTYPE(None, c_int64, c_int64)(address)


def _numbers(arguments: Sequence[Any]) -> Iterator[int]:
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from argument
        elif argument is not None:
            yield argument


def _of_type(name: str, number: int) -> Any:
    return None if name == "None" else bool(number) if name == "bool" else number


def _optimized(assembly: str) -> bytes:
    """The machine code of a module."""
    module = llvm.parse_assembly(assembly)
    tuning = llvm.create_pipeline_tuning_options(speed_level=_OPTIMIZATION)
    tuning.loop_vectorization = False  # loops are short; it halves the speed of writing Kryo
    passes = llvm.create_pass_builder(_target(), tuning)
    passes.getModulePassManager().run(module, passes)
    code: bytes = _target().emit_object(module)
    return code


@cache
def _target() -> Any:
    """The machine that runs this process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=_OPTIMIZATION,
        jit=True,
    )


@cache
def _machine() -> int:
    """A number for everything that machine code depends on, except its sources."""
    names = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    versions = llvmlite.__version__, platform.python_version()
    return zlib.crc32(" ".join((*names, *versions)).encode())


def _folders() -> Iterator[Path]:
    """The folders where machine code may be stored: a configured one, or the usual ones.

    Code that another user could write is never run, so folders of others are left out.
    """
    if CACHE in os.environ:
        place = Path(os.environ[CACHE])
    else:
        if PACKAGE_FOLDER is not None:
            beside = PACKAGE_FOLDER / "program" / "kernel" / "__pycache__"
            with suppress(OSError):
                beside.mkdir(exist_ok=True)
                # The owner of the package can run code in this process anyway.
                if is_trusted(beside, PACKAGE_FOLDER.stat().st_uid):
                    yield beside
        try:
            usual = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        except RuntimeError:
            return
        place = Path(usual, "savepoint")
    if (own := own_folder(place)) is not None:
        yield own


def _write(path: Path, content: bytes) -> None:
    """Writes a file in one step, so that nobody reads half of it."""
    handle, draft = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)
    Path(draft).replace(path)
