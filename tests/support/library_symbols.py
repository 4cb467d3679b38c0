"""Symbols of shared libraries, as their systems see them: of Linux, macOS and Windows.

``python library_symbols.py LIBRARY ...`` raises ``AssertionError`` unless each library exports all
kernels and asks its system for nothing but what is listed here.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import NamedTuple

from savepoint_formats.program.kernel.code.build import all_kernels

_DYNAMIC_SYMBOLS, _UNDEFINED_SECTION = 11, 0
_DYNAMIC, _NEEDED = 6, 1
_SYMBOL_TABLE, _EXTERNAL, _DEFINED = 0x2, 0x1, 0xE

ALLOWED = {
    ".so": {"memcpy"},
    # Their loader binds functions when they are first called.
    ".dylib": {"_memcpy", "dyld_stub_binder"},
    ".dll": set[str](),
}
"""Ending -> the symbols that a library may ask for; Windows resolves none by name alone."""


class Symbols(NamedTuple):
    """Names of symbols."""

    exported: set[str]
    undefined: set[str]


def symbols(path: Path) -> Symbols:
    """The symbols of a library; functions of macOS without their underscore."""
    readers = {".so": _of_elf, ".dylib": _of_macho, ".dll": _of_pe}
    return readers[path.suffix](path.read_bytes())


def needed(path: Path) -> int:
    """The number of libraries that one of Linux needs."""
    data = path.read_bytes()
    ((offset, size),) = [place for kind, *place in _sections(data) if kind == _DYNAMIC]
    tags = [struct.unpack_from("<q", data, at)[0] for at in range(offset, offset + size, 16)]
    return tags.count(_NEEDED)


def _sections(data: bytes) -> list[tuple[int, int, int]]:
    """Kind, offset and size of each section of ELF."""
    (start,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    heads = [struct.unpack_from("<IIQQQQ", data, start + size * n) for n in range(count)]
    return [(kind, offset, length) for _, kind, _, _, offset, length in heads]


def _of_elf(data: bytes) -> Symbols:
    sections = _sections(data)
    number = next(n for n, (kind, *_) in enumerate(sections) if kind == _DYNAMIC_SYMBOLS)
    _, offset, size = sections[number]
    (start,) = struct.unpack_from("<Q", data, 0x28)
    (width,) = struct.unpack_from("<H", data, 0x3A)
    (link,) = struct.unpack_from("<I", data, start + width * number + 0x28)
    names = sections[link][1]
    result = Symbols(set(), set())
    for at in range(offset + 24, offset + size, 24):
        name, _, _, section = struct.unpack_from("<IBBH", data, at)
        is_undefined = section == _UNDEFINED_SECTION
        (result.undefined if is_undefined else result.exported).add(_text(data, names + name))
    return result


def _of_macho(data: bytes) -> Symbols:
    (count,) = struct.unpack_from("<I", data, 0x10)
    result, at = Symbols(set(), set()), 0x20
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, at)
        if command == _SYMBOL_TABLE:
            start, number, names, _ = struct.unpack_from("<IIII", data, at + 8)
            for place in range(start, start + 16 * number, 16):
                name, kind = struct.unpack_from("<IB", data, place)
                text = _text(data, names + name)
                if kind & _EXTERNAL and kind & _DEFINED:
                    result.exported.add(text.removeprefix("_"))
                elif kind & _EXTERNAL:
                    result.undefined.add(text)
        at += size
    return result


def _of_pe(data: bytes) -> Symbols:
    (header,) = struct.unpack_from("<I", data, 0x3C)
    count, optional = struct.unpack_from("<H12xH", data, header + 6)
    (exports,) = struct.unpack_from("<I", data, header + 24 + 112)
    heads = [
        struct.unpack_from("<8xIIII", data, header + 24 + optional + 40 * n) for n in range(count)
    ]

    def place(address: int) -> int:
        starts = (
            (start, offset) for size, start, _, offset in heads if 0 <= address - start < size
        )
        start, offset = next(starts)
        return int(address - start + offset)

    number, _, names = struct.unpack_from("<III", data, place(exports) + 24)
    addresses = struct.unpack_from(f"<{number}I", data, place(names))
    return Symbols({_text(data, place(address)) for address in addresses}, set())


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()


def main(paths: list[str]) -> None:
    """Checks libraries."""
    kernels = {kernel.function.__name__ for kernel in all_kernels()}
    for path in map(Path, paths):
        exported, undefined = symbols(path)
        assert kernels <= exported, (path, kernels - exported)
        assert undefined <= ALLOWED[path.suffix], (path, undefined)
        print(f"{path.name}: {len(exported)} exported, {len(undefined)} undefined")


if __name__ == "__main__":
    main(sys.argv[1:])
