"""The line that installs a missing extra fits the way in which the package was installed."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from savepoint_formats.extras import missing

if TYPE_CHECKING:
    from pathlib import Path

NAME = "savepoint-state-processor"


def advice() -> str:
    return str(missing(ModuleNotFoundError(name="textual"))).partition("that has it: ")[2]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The records of an installation, as pip writes them."""
    records = tmp_path / "savepoint_state_processor-9.dist-info"
    records.mkdir()
    (records / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {NAME}\nVersion: 9\n")
    monkeypatch.syspath_prepend(tmp_path)
    return records


def test_from_an_index_by_its_name(installed: Path) -> None:
    assert advice() == f"pip install '{NAME}[browse]'"


def test_from_a_wheel_or_a_checkout_by_the_path(installed: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "a wheel.whl"
    wheel.touch()
    (installed / "direct_url.json").write_text(json.dumps({"url": wheel.as_uri()}))
    assert advice() == f"pip install '{wheel}[browse]'"
    wheel.unlink()
    assert advice() == f"pip install '{NAME}[browse]'"


@pytest.mark.parametrize(
    ("prefix", "line"),
    [
        (f"/home/a/.local/pipx/venvs/{NAME}", "pipx install --force"),
        (f"/home/a/.local/share/uv/tools/{NAME}", "uv tool install"),
    ],
)
def test_by_the_tool_that_has_installed_it(
    installed: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, line: str
) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)
    assert advice() == f"{line} '{NAME}[browse]'"
