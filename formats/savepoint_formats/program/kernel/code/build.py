"""Builds the library of kernels: ``python -m savepoint_formats.program.kernel.code.build FOLDER``.

The build of a wheel runs it, and a checkout whose kernels have changed. It needs llvmlite, Python's
own library and a linker.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import suppress
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from savepoint_formats.program.kernel.code.compiler import object_file
from savepoint_formats.program.kernel.code.linker import link
from savepoint_formats.program.kernel.code.machine_code import KERNELS
from savepoint_formats.program.kernel.code.revision import REVISION, SOURCES
from savepoint_formats.program.kernel.code.targets import TARGETS, this_machine

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.program.kernel.code.machine_code import Kernel
    from savepoint_formats.program.kernel.code.targets import Target

_PACKAGE, _BUILDERS = "savepoint_formats", "program/kernel/code/"


def build(folder: Path, target: Target, *, by_zig: bool = False) -> Path:
    """Builds the library of a target in a folder, and removes those of other revisions from it.

    Raises:
        RuntimeError: There is no linker, or it fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / target.library_name(REVISION)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        objects = []
        for kernel in all_kernels():
            name = kernel.function.__name__
            path = Path(work, f"{name}.o")
            path.write_bytes(
                object_file(kernel.function, _arguments(kernel.function), name, target)
            )
            objects.append(path)
        draft = Path(work, library.name)
        link(objects, draft, target, by_zig=by_zig)
        # In one step, because other processes may load it now.
        draft.replace(library)
    for other in folder.glob(f"kernels.*.{target.name}{target.suffix}"):
        if other != library:
            with suppress(OSError):  # Windows removes no library that a process has loaded
                other.unlink()
    return library


def all_kernels() -> list[Kernel[..., Any]]:
    """The kernels of all modules, which are imported by name: some are in higher rooms."""
    for source in SOURCES:
        if not source.startswith(_BUILDERS):
            name = source.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            import_module(f"{_PACKAGE}.{name}")
    return KERNELS


def _arguments(function: Callable[..., Any]) -> list[Any]:
    """A job of each parameter's kind."""
    kinds = get_type_hints(function)
    jobs = [kinds[name] for name in signature(function).parameters]
    return [job(*[0] * len(job._fields)) for job in jobs]


def main() -> None:
    """Reads the command line, builds and prints the path."""
    parser = argparse.ArgumentParser(prog="build", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", choices=TARGETS, help="this machine by default")
    parser.add_argument("--by-zig", action="store_true", help="link by ziglang in any case")
    parser.add_argument(
        "--if-known", action="store_true", help="build nothing for unknown machines"
    )
    options = parser.parse_args()
    target = TARGETS[options.target] if options.target else this_machine()
    if target is not None:
        print(build(options.folder, target, by_zig=options.by_zig))
    elif not options.if_known:
        parser.error(f"nothing can be built for this machine, only for {', '.join(TARGETS)}")


if __name__ == "__main__":
    main()
