"""The commands that judge savepoints, as a user calls them."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from savepoint_cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

FAULT = {
    "severity", "check", "problem", "operator", "subtask", "state", "key_group", "file", "offset",
    "lost_entries", "lost_bytes", "cost",
}  # fmt: skip


def run(*arguments: str | Path) -> tuple[int, str]:
    """Exit code and all that was printed."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def answer(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    """Exit code and the one JSON object that was printed."""
    code, output = run(*arguments, "--output", "json")
    return code, json.loads(output)


@pytest.fixture
def currency(samples: Path, tmp_path: Path) -> Path:
    copy = shutil.copytree(samples / "currency-1.20.5-hashmap-canonical", tmp_path / "currency")
    return tmp_path / copy


def test_verify_ends_with_0_if_all_is_whole(currency: Path) -> None:
    code, found = answer("verify", currency)
    assert code == 0
    assert found.pop("path") == str(currency)
    assert found == {
        "depth": "deep", "is_whole": True, "operators": 9, "files": 6, "file_size": 3546,
        "entries": 58, "faults": [],
    }  # fmt: skip
    assert "Faults: none" in run("verify", currency, "--quick")[1]


def test_verify_ends_with_1_and_names_what_is_missing(currency: Path) -> None:
    missing = next(path for path in currency.iterdir() if len(path.name) == 36)
    missing.unlink()
    code, found = answer("verify", currency, "--quick")
    assert code == 1
    assert (found["is_whole"], found["depth"]) == (False, "quick")
    (fault,) = found["faults"]
    assert set(fault) == FAULT
    assert (fault["severity"], fault["check"]) == ("damage", "files")
    assert fault["file"].endswith(missing.name)
    code, text = run("verify", currency)
    assert (code, missing.name in text.replace("\n", "")) == (1, True)


@pytest.mark.parametrize("size", [3, 500])
def test_verify_tells_of_metadata_that_cannot_be_read(currency: Path, size: int) -> None:
    path = currency / "_metadata"
    path.write_bytes(path.read_bytes()[:size])
    code, found = answer("verify", currency)
    assert code == 1
    assert [fault["check"] for fault in found["faults"]] == ["metadata"]


def test_verify_of_nothing_is_an_error(tmp_path: Path) -> None:
    code, output = run("verify", tmp_path / "nothing")
    assert (code, "does not exist" in output) == (1, True)
