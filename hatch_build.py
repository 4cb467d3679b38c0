"""What a build adds: machine code, links that work elsewhere, and manual pages if there are any."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_PROGRAM = "savepoint_formats.program.kernel.code.build"
_BUILT = "formats/savepoint_formats/program/kernel/built"
_LLVM, _ZIG = "llvmlite>=0.44,<1", "ziglang>=0.13,<1"
_PLATFORMS = {
    # One library for glibc and musl: it needs nothing but memcpy.
    "linux-x86_64": "manylinux_2_17_x86_64.musllinux_1_1_x86_64",
    "linux-aarch64": "manylinux_2_17_aarch64.musllinux_1_1_aarch64",
    "macos-x86_64": "macosx_11_0_x86_64",
    "macos-arm64": "macosx_11_0_arm64",
    "windows-x86_64": "win_amd64",
}
"""Target -> the platforms of its wheel."""

PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)]+)\)")
RELATIVE_LINK = re.compile(r"\]\((?!https?:|#)([^)]+)\)")


class Links(MetadataHookInterface):
    """Completes the links of the README by ``PROJECT_URL``, the repository that releases the package.

    ``PROJECT_REF`` is the branch or tag that they lead to. Without an address, links stay relative.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Sets the readme and the addresses of the project."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        if url := os.environ.get("PROJECT_URL", "").rstrip("/"):
            ref = os.environ.get("PROJECT_REF") or "main"
            tree = f"{url}/blob/{ref}"
            text = PICTURE.sub(rf"![\1]({url}/raw/{ref}/\2)", text)
            text = RELATIVE_LINK.sub(rf"]({tree}/\1)", text)
            # The registry of MCP servers looks for its name in what the package index shows.
            owner, _, repository = url.rpartition("/")
            text += f"\n<!-- mcp-name: io.github.{owner.rpartition('/')[2]}/{repository} -->\n"
            metadata["urls"] = {
                "Homepage": url,
                "Documentation": f"{tree}/docs/index.md",
                "Changelog": f"{tree}/docs/changelog.md",
                "Issues": f"{url}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class Additions(BuildHookInterface):
    """Adds machine code of the kernels to a wheel, and manual pages if there are any.

    ``SAVEPOINT_TARGET`` names the machine that a release is for. Without it, the wheel is for this
    machine, whose own linker is used if it has one.
    """

    def dependencies(self) -> list[str]:
        """What builds the machine code; a linker only if this machine has none."""
        has_linker = shutil.which("ld" if sys.platform == "linux" else "cc")
        needs_zig = _target() or not has_linker
        return [_LLVM, _ZIG] if needs_zig else [_LLVM]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds the library; an editable install has it in the tree."""
        built = Path(self.root, _BUILT)
        if version == "editable":
            self._build(built)
            return
        self._work = tempfile.TemporaryDirectory()
        library = self._build(Path(self._work.name))
        if library is not None:
            within = Path(*Path(_BUILT).parts[1:], library.name)
            build_data["force_include"][str(library)] = str(within)
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{_PLATFORMS.get(_target(), _this_platform())}"
        # What docs/generate_man.py build/share wrote.
        if Path(self.root, "build", "share").is_dir():
            build_data["shared_data"]["build/share"] = "share"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002  # hatch's
        """Removes the library, which the wheel has now."""
        if version != "editable":
            self._work.cleanup()

    def _build(self, folder: Path) -> Path | None:
        """The library; None if nothing can be built for this machine."""
        formats = os.path.join(self.root, "formats")
        paths = filter(None, [formats, os.environ.get("PYTHONPATH")])
        options = ["--target", _target(), "--by-zig"] if _target() else ["--if-known"]
        run = subprocess.run(
            [sys.executable, "-P", "-m", _PROGRAM, str(folder), *options],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return Path(run.stdout.strip()) if run.stdout.strip() else None


def _target() -> str:
    return os.environ.get("SAVEPOINT_TARGET", "")


def _this_platform() -> str:
    return re.sub(r"[-.]", "_", sysconfig.get_platform())
