"""The revision, which is in the library's name, is that of all that is compiled."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import savepoint_formats
from savepoint_formats.program.kernel.code import revision

PACKAGE = Path(savepoint_formats.__file__).parent
SOURCES = [Path(str(source)) for source in revision.SOURCES.values()]


def test_the_revision_is_that_of_all_that_is_compiled() -> None:
    """Who compiles, and all modules of ours that such a module imports, are among its sources."""
    sources = {path.relative_to(PACKAGE).as_posix() for path in SOURCES}
    compiled = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^@(entry|part)\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {"program/kernel/walk.py", "state_files/rocksdb/stream_kernel.py"} < compiled
    assert compiled <= sources
    assert {one for path in SOURCES for one in imported(path)} <= sources


def test_an_archive_of_the_package_has_the_same_revision(tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "archive"), "zip", PACKAGE.parent, PACKAGE.name)
    script = "from savepoint_formats.program.kernel.code import revision as r; print(r.__file__, r.REVISION)"
    environment = os.environ | {"PYTHONPATH": archive}
    command = [sys.executable, "-c", script]
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert printed.stdout.startswith(archive)
    assert printed.stdout.split()[-1] == str(revision.REVISION)


def imported(path: Path) -> set[str]:
    """The modules of the package that a module imports when it runs, as paths."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE.name + "."):
            place = "/".join(str(node.module).split(".")[1:])
            is_package = (PACKAGE / place).is_dir()
            names = [f"{place}/{one.name}" for one in node.names] if is_package else [place]
            found |= {f"{name}.py" for name in names}
    return found
