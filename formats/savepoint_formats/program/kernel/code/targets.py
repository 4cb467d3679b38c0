"""Machines that a library of kernels is built for, each with the oldest processor that runs it."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A system and a processor.

    Attributes:
        name: System and processor, as in the name of the library.
        triple: LLVM's name of the target.
        cpu: LLVM's name of the oldest processor.
        suffix: Ending of a shared library.
        linked_by: Arguments of ``python -m ziglang`` that link objects for this target.
    """

    name: str
    triple: str
    cpu: str
    suffix: str
    linked_by: tuple[str, ...]

    def library_name(self, revision: int) -> str:
        """File name of the library of a revision.

        With a dot before its ending, because Python takes ``kernels.so`` for a module.
        """
        return f"kernels.{revision:08x}.{self.name}{self.suffix}"


def _linux(processor: str, cpu: str, emulation: str) -> Target:
    linker = ("ld.lld", "-m", emulation)
    return Target(f"linux-{processor}", f"{processor}-unknown-linux-gnu", cpu, ".so", linker)


def _macos(processor: str, arch: str, cpu: str) -> Target:
    # Without a release, a library asks for the newest one.
    linker = ("cc", "-target", f"{processor}-macos.11.0")
    return Target(f"macos-{arch}", f"{arch}-apple-macosx11.0.0", cpu, ".dylib", linker)


TARGETS = {
    target.name: target
    for target in (
        _linux("x86_64", "x86-64", "elf_x86_64"),
        _linux("aarch64", "generic", "aarch64linux"),
        _macos("x86_64", "x86_64", "x86-64"),
        _macos("aarch64", "arm64", "generic"),
        Target(
            "windows-x86_64",
            "x86_64-pc-windows-gnu",
            "x86-64",
            ".dll",
            ("cc", "-target", "x86_64-windows-gnu"),
        ),
    )
}
"""All targets, by their names."""

_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}


def name_of_this_machine() -> str:
    """System and processor of this machine, whether or not it is among ``TARGETS``."""
    processor = platform.machine().lower()
    return f"{_SYSTEMS.get(sys.platform, sys.platform)}-{'x86_64' if processor == 'amd64' else processor}"


def this_machine() -> Target | None:
    """The target that this machine is; None if nothing is built for it."""
    # A 32-bit Python on a 64-bit processor reports the processor.
    return TARGETS.get(name_of_this_machine()) if sys.maxsize > 1 << 32 else None
