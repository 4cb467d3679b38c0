"""Targets have names that tell libraries apart."""

from __future__ import annotations

import platform
import sys

import pytest

from savepoint_formats.program.kernel.code.targets import TARGETS, this_machine


@pytest.mark.parametrize(
    ("system", "processor", "name"),
    [
        ("linux", "x86_64", "linux-x86_64"),
        ("linux", "aarch64", "linux-aarch64"),
        ("darwin", "arm64", "macos-arm64"),
        ("win32", "AMD64", "windows-x86_64"),
        ("linux", "riscv64", None),
        ("freebsd14", "amd64", None),
    ],
)
def test_a_machine_has_a_target_or_none(
    monkeypatch: pytest.MonkeyPatch, system: str, processor: str, name: str | None
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: processor)
    assert this_machine() == (None if name is None else TARGETS[name])


def test_python_takes_no_library_for_a_module() -> None:
    """``kernels.so`` would be the module ``kernels``; no module has a dot in its name."""
    names = {target.library_name(0x1A2B) for target in TARGETS.values()}
    assert "kernels.00001a2b.linux-x86_64.so" in names
    assert len(names) == len(TARGETS)
    assert all(name.count(".") == 3 for name in names)
