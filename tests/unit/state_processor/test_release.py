"""A release: the tag, what registries get, and the page of the package index."""

from __future__ import annotations

import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CODE = "state_processor/state_processor/__init__.py"
CHANGELOGS = ("docs/changelog.md", "docs/changelog-details.md")
SOMEONE = {
    f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}
URL = "https://github.com/acme/flink-state"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The files that a tag changes, committed."""
    folder = tmp_path / "repository"
    for name in (CODE, *CHANGELOGS):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "All")
    return folder


def git(folder: Path, *arguments: str) -> str:
    call = ["git", *arguments]
    environment = os.environ | SOMEONE
    return subprocess.run(
        call, cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout


def script(
    name: str, folder: Path, argument: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, str(ROOT / ".ci" / name), argument]
    environment = os.environ | SOMEONE | variables
    return subprocess.run(
        call, cwd=folder, env=environment, check=False, capture_output=True, text=True
    )


def test_a_tag_is_on_a_commit_of_its_version(repository: Path) -> None:
    run = script("tag_release.py", repository, "7.8.9")
    assert run.returncode == 0, run.stderr
    assert "git push origin HEAD v7.8.9" in run.stdout
    assert '__version__ = "7.8.9"\n' in git(repository, "show", f"v7.8.9:{CODE}")
    assert '__version__ = "7.9.0.dev0"\n' in git(repository, "show", f"HEAD:{CODE}")
    assert git(repository, "status", "--porcelain") == ""
    for name in CHANGELOGS:
        tagged = git(repository, "show", f"v7.8.9:{name}")
        assert re.search(r"^## 7\.8\.9 \(\d{4}-\d\d-\d\d\)$", tagged, re.MULTILINE), name
        assert "Unreleased" not in tagged
        assert "will be version" not in tagged
        assert "## Unreleased\n\n## 7.8.9" in git(repository, "show", f"HEAD:{name}")


def test_a_tag_that_cannot_be_made_changes_nothing(repository: Path) -> None:
    before = git(repository, "rev-parse", "HEAD")
    assert "is no version" in script("tag_release.py", repository, "1.0.0.dev0").stderr
    git(repository, "tag", "v1.0.0")
    assert "never tagged twice" in script("tag_release.py", repository, "1.0.0").stderr
    changelog = repository / CHANGELOGS[0]
    text = changelog.read_text(encoding="utf-8")
    changelog.write_text(text.replace("## Unreleased\n", "## Unreleased\n" + "\n* line" * 61))
    assert "commit them first" in script("tag_release.py", repository, "1.1.0").stderr
    git(repository, "commit", "--quiet", "--all", "--message", "Long")
    assert "fit a screen" in script("tag_release.py", repository, "1.1.0").stderr
    git(repository, "reset", "--quiet", "--hard", "HEAD~")
    assert git(repository, "rev-parse", "HEAD") == before
    assert git(repository, "tag") == "v1.0.0\n"


def test_registries_get_the_version_and_the_hash(tmp_path: Path) -> None:
    archive = tmp_path / "savepoint_state_processor-0.1.0.tar.gz"
    archive.write_bytes(b"an archive")
    run = script("list_release.py", tmp_path, str(tmp_path), PROJECT_URL=URL)
    assert run.returncode == 0, run.stderr
    server = json.loads((tmp_path / "listings" / "server.json").read_text(encoding="utf-8"))
    assert server["name"] == "io.github.acme/flink-state"
    assert len(server["description"]) <= 100
    (package,) = server["packages"]
    assert server["version"] == package["version"] == "0.1.0"
    formula = (tmp_path / "listings" / "savepoint-state-processor.rb").read_text(encoding="utf-8")
    assert hashlib.sha256(b"an archive").hexdigest() in formula
    assert f"{URL}/releases/download/v0.1.0/{archive.name}" in formula
    notes = (tmp_path / "listings" / "notes.md").read_text(encoding="utf-8")
    assert notes.startswith("* `describe`")
    refused = script("list_release.py", tmp_path, str(tmp_path), PROJECT_URL="https://example.com")
    assert "expected https://github.com/OWNER/REPOSITORY" in refused.stderr


def test_the_registry_starts_a_command_that_is_there() -> None:
    """``uvx --from PACKAGE NAME mcp PATH`` runs the script that is called like the package."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '\nsavepoint-state-processor = "savepoint_cli.start:main"' in project


def test_the_page_of_the_package_index_has_absolute_addresses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PROJECT_URL", URL)
    monkeypatch.setenv("PROJECT_REF", "v0.2.0")
    links = runpy.run_path(str(ROOT / "hatch_build.py"))["Links"]
    metadata: dict[str, dict[str, str]] = {}
    links(str(ROOT), {}).update(metadata)
    text = metadata["readme"]["text"]
    assert re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert target.startswith(("https:", "#")), target
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text):
        assert picture.startswith(f"{URL}/raw/v0.2.0/docs/pictures/"), picture
    assert text.endswith("<!-- mcp-name: io.github.acme/flink-state -->\n")
    assert metadata["urls"]["Changelog"] == f"{URL}/blob/v0.2.0/docs/changelog.md"
