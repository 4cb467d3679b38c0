"""Versions and hashes of all that CI, the action and the images install."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
LOCKS = ROOT / ".ci" / "requirements"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
INSTALLERS = (
    *(".ci/install", ".ci/package", "action.yml", "Dockerfile"),
    *(f".github/workflows/{name}.yml" for name in ("checks", "nightly", "release")),
)

# Each lock, and the extras that it covers.
COVERED = {"all": ("test", "release"), "light": ("s3",), "spark": ("s3", "spark")}


def locked(name: str) -> dict[str, list[str]]:
    """The versions of each package; there are several if they depend on the system."""
    text = (LOCKS / f"{name}.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    versions: dict[str, list[str]] = {}
    for line in text.splitlines():
        requirement, *hashes = line.split("--hash=")
        assert hashes, f"no hash: {line}"
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", each.strip()) for each in hashes), line
        package = Requirement(requirement.strip())
        (specifier,) = package.specifier
        assert specifier.operator == "==", line
        versions.setdefault(canonicalize_name(package.name), []).append(specifier.version)
    return versions


def needed(extras: tuple[str, ...]) -> list[Requirement]:
    """What the project needs, with extras that it has of its own."""
    texts = list(PROJECT["project"]["dependencies"])
    for extra in extras:
        texts += PROJECT["project"]["optional-dependencies"][extra]
    requirements = []
    for requirement in map(Requirement, texts):
        if requirement.name == PROJECT["project"]["name"]:
            requirements += needed(tuple(requirement.extras))
        else:
            requirements.append(requirement)
    return requirements


@pytest.mark.parametrize("name", COVERED)
def test_a_lock_has_all_that_the_project_needs(name: str) -> None:
    versions = locked(name)
    for requirement in needed(COVERED[name]):
        found = versions.get(canonicalize_name(requirement.name), [])
        assert any(map(requirement.specifier.contains, found)), f"run .ci/lock: {requirement}"


def test_what_builds_the_project_is_locked() -> None:
    versions = locked("build")
    for requirement in map(Requirement, PROJECT["build-system"]["requires"]):
        assert requirement.specifier, requirement
        (version,) = versions[canonicalize_name(requirement.name)]
        assert version in requirement.specifier


@pytest.mark.parametrize("name", ["build", "light", "spark"])
def test_locks_agree(name: str) -> None:
    everything = locked("all")
    for package, versions in locked(name).items():
        assert everything.get(package, versions) == versions


@pytest.mark.parametrize("path", INSTALLERS)
def test_nothing_is_installed_without_a_hash(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8").replace("\\\n", " ")
    # A user of the action may name another package.
    text = text.replace('pip install --quiet "$INSTALL"', "")
    # A package without an index comes from files that were downloaded with their hashes.
    checked = "--require-hashes|--no-deps|--no-index"
    for line in re.findall(r"pip\"? (?:install|download) .*", text):
        for command in line.split("&&"):
            assert not re.search("install|download", command) or re.search(checked, command), line


@pytest.mark.parametrize("name", ["checks", "nightly", "release"])
def test_a_workflow_names_actions_by_hash_and_may_read_only(name: str) -> None:
    workflow = yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    actions = [step["uses"] for step in steps if "uses" in step]
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action) for action in actions), actions
    for step in steps:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        # What GitHub puts into a script could be a command; the environment has it as text.
        assert "${{" not in step.get("run", ""), step


def test_no_image_is_pushed_whose_base_has_no_digest() -> None:
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    steps = yaml.safe_load(workflow)["jobs"]["images"]["steps"]
    names = [step.get("name", "") for step in steps]
    check = steps[names.index("The base image is named by its digest")]
    assert names.index("Push") > names.index(check["name"])
    assert check["if"] == steps[names.index("Push")]["if"]
    for base, code in {
        "python:3.12-slim": 1,
        f"python:3.12-slim@sha256:{'0' * 64}": 0,
        "python@sha256:short": 1,
        "": 1,
    }.items():
        call = ["bash", "-e", "-c", check["run"]]
        assert subprocess.run(call, env={"PYTHON": base}, check=False).returncode == code, base
