"""Names a release in the code and the changelogs, commits, and tags.

    python .ci/tag_release.py 0.2.0

It pushes nothing. The tag is on a commit whose version is the release; the commit after it begins
the next one. ``docs/how-to/release.md`` has the steps around it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

CODE = Path("state_processor/state_processor/__init__.py")
CHANGELOGS = (Path("docs/changelog.md"), Path("docs/changelog-details.md"))
SCREEN = 60
"""The most lines that a release has in the changelog; the other page has no bound."""

_UNRELEASED = "## Unreleased\n"
_WILL_BE = re.compile(r"This will be version [\d.]+\. *")


def main(version: str) -> None:
    """Makes two commits and the tag between them. Nothing is changed if the tag can't be made."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise SystemExit(f"{version!r} is no version such as 0.2.0")
    if _git("status", "--porcelain"):
        raise SystemExit("The tree has changes; commit them first")
    if _git("tag", "--list", f"v{version}"):
        raise SystemExit(f"v{version} exists already; a release is never tagged twice")
    texts = {path: path.read_text(encoding="utf-8") for path in CHANGELOGS}
    for path, text in texts.items():
        if _UNRELEASED not in text:
            raise SystemExit(f"{path} has no section {_UNRELEASED.strip()!r}")
    lines = notes(texts[CHANGELOGS[0]], "Unreleased").count("\n")
    if lines > SCREEN:
        raise SystemExit(
            f"{CHANGELOGS[0]} has {lines} lines about this release, at most {SCREEN} fit a screen;"
            f" move what few users need to {CHANGELOGS[1]}"
        )
    heading = f"## {version} ({datetime.now(UTC):%Y-%m-%d})\n"
    for path, text in texts.items():
        named = _WILL_BE.sub("", text.replace(_UNRELEASED, heading, 1), count=1)
        path.write_text(named, encoding="utf-8")
    _set_version(version)
    _git("commit", "--quiet", "--all", "--message", f"Release {version}")
    _git("tag", "--annotate", f"v{version}", "--message", f"Version {version}")

    for path in CHANGELOGS:
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(heading, f"{_UNRELEASED}\n{heading}", 1), encoding="utf-8")
    major, minor, _ = version.split(".")
    following = f"{major}.{int(minor) + 1}.0"
    _set_version(f"{following}.dev0")
    _git("commit", "--quiet", "--all", "--message", f"Begin {following}")
    print(f"v{version} is tagged. To release it:\ngit push origin HEAD v{version}")


def notes(changelog: str, release: str) -> str:
    """What the changelog says about a release, without its heading."""
    section = re.search(
        rf"^## {re.escape(release)}\b[^\n]*\n(.*?)(?=^## |\Z)", changelog, re.DOTALL | re.MULTILINE
    )
    if section is None:
        raise SystemExit(f"{CHANGELOGS[0]} has no section {release!r}")
    return section[1].strip() + "\n"


def _set_version(version: str) -> None:
    text = CODE.read_text(encoding="utf-8")
    new = re.sub(r'^__version__ = "[^"]*"', f'__version__ = "{version}"', text, flags=re.MULTILINE)
    CODE.write_text(new, encoding="utf-8")


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
