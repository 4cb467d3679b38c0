"""The commands that write a savepoint from another one, as a user calls them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.commands import lines, run

if TYPE_CHECKING:
    from pathlib import Path

    from support.s3_server import S3Server


def tables(path: Path) -> set[str]:
    return {table["table"] for table in lines("list", path)}


@pytest.fixture
def currency(samples: Path) -> Path:
    return samples / "currency-2.2.1-rocksdb-native"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_copy_gathers_the_files_of_a_checkpoint(samples: Path, out: Path) -> None:
    checkpoint = samples / "states-2.2.1-rocksdb-incremental/chk-2"
    code, output = run("copy", checkpoint, out)
    assert code == 0
    for fact in ("files", "size", "seconds", "stateful", "copied"):
        assert fact in output
    assert lines("schema", out) == lines("schema", checkpoint)
    assert {file["path"] for file in lines("files", out)} == {file.name for file in out.iterdir()}


def test_copy_tells_programs_what_it_wrote(currency: Path, out: Path) -> None:
    (written,) = lines("copy", currency, out)
    assert written["path"] == str(out)
    assert written["files"] == len(list(out.iterdir()))
    assert written["size"] == sum(file.stat().st_size for file in out.iterdir())
    assert {one["action"] for one in written["operators"]} == {"copied"}


@pytest.mark.usefixtures("slow")
def test_copy_reaches_an_object_store(currency: Path, s3_server: S3Server) -> None:
    bucket = s3_server.bucket("command")
    (written,) = lines("copy", currency, s3_server.uri(bucket, "savepoint"))
    assert len(s3_server.keys(bucket)) == written["files"]


def test_rename_operator_moves_the_state_to_another_uid(currency: Path, out: Path) -> None:
    code, output = run("rename-operator", currency, "summarize", "totals", out)
    assert code == 0
    assert "renamed from summarize" in output
    assert tables(out) == {table.replace("summarize.", "totals.", 1) for table in tables(currency)}


def test_remove_operator_takes_several_or_all_others(currency: Path, out: Path) -> None:
    (written,) = lines("remove-operator", currency, "summarize", "rates_source", out)
    others = {one["operator"] for one in written["operators"]}
    assert set(written["left_out"]) == {"summarize", "rates_source"}
    (alone,) = lines("remove-operator", currency, f"{out}-2", *("--all-but", "summarize"))
    assert [one["operator"] for one in alone["operators"]] == ["summarize"]
    assert set(alone["left_out"]) == others | {"rates_source"}
    code, output = run("remove-operator", currency, f"{out}-3")
    assert (code, "name some, or use empty or all_but" in output) == (2, True), output


def test_remove_operator_leaves_its_state_out(currency: Path, out: Path) -> None:
    (written,) = lines("remove-operator", currency, "summarize", out)
    assert written["left_out"] == ["summarize"]
    assert tables(out) == {
        table for table in tables(currency) if not table.startswith("summarize.")
    }


def test_operators_are_called_by_the_uids_that_are_given(samples: Path, out: Path) -> None:
    savepoint = samples / "currency-1.20.5-hashmap-canonical"
    (written,) = lines("copy", savepoint, out, "--uid", "summarize")
    assert "summarize" in {one["operator"] for one in written["operators"]}


@pytest.mark.parametrize(
    "command",
    [("copy",), ("rename-operator", "summarize", "totals"), ("remove-operator", "summarize")],
    ids=lambda command: command[0],
)
class TestEachCommand:
    def call(self, command: tuple[str, ...], currency: Path, *rest: str | Path) -> tuple[int, str]:
        return run(command[0], currency, *command[1:], *rest)

    def test_a_dry_run_writes_nothing(
        self, command: tuple[str, ...], currency: Path, out: Path
    ) -> None:
        code, output = self.call(command, currency, out, "--dry-run")
        assert code == 0
        assert not out.exists()
        assert "copied files" in output
        assert "currency_converter" in output

    def test_a_savepoint_is_replaced_only_when_told_so(
        self, command: tuple[str, ...], currency: Path, out: Path
    ) -> None:
        run("copy", currency, out)
        before = (out / "_metadata").read_bytes()
        for options in ((), ("--dry-run",)):
            code, output = self.call(command, currency, out, *options)
            assert (code, output.count("\n")) == (1, 1)
            assert "is a savepoint already" in output
        assert (out / "_metadata").read_bytes() == before
        assert self.call(command, currency, out, "--overwrite")[0] == 0
        assert (out / "_metadata").read_bytes() != before

    def test_a_file_that_is_gone_is_named(
        self, command: tuple[str, ...], currency: Path, tmp_path: Path, out: Path
    ) -> None:
        damaged = tmp_path / "damaged"
        shutil.copytree(currency, damaged)
        gone = next(
            file["path"]
            for file in lines("files", damaged)
            if "currency_converter 0: operator state" in file["references"]
        )
        (damaged / gone).unlink()
        code, output = self.call(command, damaged, out)
        assert code == 1
        assert f"it lacks {gone};" in output
        assert not out.exists()


def test_an_unknown_operator_lists_those_there_are(currency: Path, out: Path) -> None:
    for command in (("remove-operator", "sumarize"), ("rename-operator", "sumarize", "totals")):
        code, output = run(command[0], currency, *command[1:], out)
        assert code == 2
        assert "has no operator 'sumarize'; it has: " in output


def test_two_operators_cannot_have_one_uid(currency: Path, out: Path) -> None:
    code, output = run("rename-operator", currency, "summarize", "gate", out)
    assert code == 1
    assert "there is an operator 'gate' already" in output


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
@pytest.mark.usefixtures("slow")
def test_no_command_that_copies_loads_spark(
    currency: Path, out: Path, options: tuple[str, ...]
) -> None:
    arguments = ["copy", str(currency), str(out), *options]
    program = (
        "import sys; from savepoint_cli.main import main;"
        f"main({arguments!r}, standalone_mode=False);"
        "assert 'pyspark' not in sys.modules and 'llvmlite' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
