"""``savepoint doctor --job``, as a user and a pipeline call it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from support.commands import lines, run

from savepoint_extensions.upgrade.compatibility.rules import Finding, Verdict
from savepoint_extensions.upgrade.compatibility_report import ReportCase, junit_text, markdown_text
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path


def schema_file(savepoint: Path, folder: Path) -> Path:
    (schema,) = lines("schema", savepoint)
    file = folder / "job.json"
    file.write_text(json.dumps(schema), encoding="utf-8")
    return file


def test_a_job_restores_what_it_has_saved(samples: Path, tmp_path: Path) -> None:
    path = samples / "states-2.2.1-rocksdb-native"
    job = schema_file(path, tmp_path)
    code, output = run("doctor", path, "--job", job, "--output", "json")
    found = json.loads(output)
    assert (code, found["verdict"], found["job"]) == (0, "restorable", str(job))
    assert (found["backend"], found["target"]) == ("rocksdb", "2.3")
    code, output = run("doctor", path, "--job", path, "--output", "json")
    assert json.loads(output)["operators"] == found["operators"]


def test_the_schema_has_the_columns_too(samples: Path) -> None:
    path = samples / "states-2.2.1-rocksdb-native"
    (schema,) = lines("schema", path)
    assert schema["version"] == 1
    assert schema["columns"] == [
        column
        for table in dict.fromkeys(column["table"] for column in schema["columns"])
        for column in lines("schema", path, table)
    ]


def test_an_operator_that_moved_is_told_everywhere(samples: Path, tmp_path: Path) -> None:
    old = samples / "currency-2.2.1-rocksdb-native"
    Savepoint.open(str(old)).rename_operator("summarize", "totals").write(str(tmp_path / "moved"))
    code, _ = run("doctor", tmp_path / "moved", "--job", tmp_path / "moved")
    assert code == 0
    junit, comment = tmp_path / "junit.xml", tmp_path / "comment.md"
    arguments = ("--job", tmp_path / "moved", "--junit", junit, "--markdown", comment)
    code, output = run("doctor", old, *arguments)
    assert code == 3
    assert "summarize → totals" in output
    suite = ET.fromstring(junit.read_text(encoding="utf-8"))
    failures = [case for case in suite if case.find("failure") is not None]
    assert [(case.get("classname"), case.get("name")) for case in failures] == [
        ("summarize", "(operator)")
    ]
    assert suite.get("failures") == "1"
    text = comment.read_text(encoding="utf-8")
    assert text.startswith("### State: restorable after migration\n")
    assert (
        "| `summarize` | restorable after migration | operator-moved `summarize → totals` |" in text
    )


def test_without_a_target_and_a_job_the_call_is_wrong(samples: Path) -> None:
    code, output = run("doctor", samples / "currency-2.2.1-rocksdb-native")
    assert (code, "--target" in output, "--job" in output) == (2, True, True)


def test_a_file_that_is_no_schema_is_refused(samples: Path, tmp_path: Path) -> None:
    file = tmp_path / "job.json"
    file.write_text('{"columns": []}', encoding="utf-8")
    code, output = run("doctor", samples / "currency-2.2.1-rocksdb-native", "--job", file)
    assert (code, output.count("\n")) == (1, 1)
    assert "is not the schema of a job" in output


HOSTILE = "a|b`@all<img>\x1b[2J\ufffe\n"


def test_names_do_nothing_in_reports() -> None:
    finding = Finding(Verdict.UNKNOWN, "unread", HOSTILE, "why", "do", "")
    case = ReportCase(HOSTILE, HOSTILE, Verdict.UNKNOWN, (finding,))
    suite = ET.fromstring(junit_text(HOSTILE, [case]))
    assert "\x1b" not in "".join(suite.itertext())
    comment = markdown_text(HOSTILE, HOSTILE, Verdict.UNKNOWN, [case])
    assert "\x1b" not in comment
    (row,) = [line for line in comment.splitlines() if "unread" in line]
    assert row.replace("\\|", "").count("|") == 6
    assert "`@all" not in comment
    assert all(part.count("@all") == 0 for part in comment.split("`")[::2])
