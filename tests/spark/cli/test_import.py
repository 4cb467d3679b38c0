"""``savepoint import``, as a user calls it: files of rows become state."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.commands import run
from support.sample_rows import Sample

if TYPE_CHECKING:
    from pathlib import Path

STATES = Sample("states-2.2.1-rocksdb-native")
WINDOWS = Sample("windows-2.2.1-hashmap-native")
FORMATS = ("parquet", "avro", "csv", "jsonl")

pytestmark = pytest.mark.usefixtures("spark")


def rows(path: str | Path, table: str) -> list[str]:
    code, output = run("show", path, table, "-n", "10000", "--output", "json")
    assert code == 0, output
    return sorted(output.splitlines())


def imported(data: Path, description: str, folder: Path, *options: str) -> Path:
    """Path of the savepoint that a description makes of a file."""
    file, out = folder / "description.yaml", folder / "savepoint"
    file.write_text(description)
    code, output = run("import", data, out, "--description", file, *options)
    assert code == 0, output
    return out


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("sample", "operator", "table", "state"),
    [
        (STATES, "stateful", "keyed_state", None),
        (STATES, "buffer", "elements", "elements"),
        (STATES, "buffer", "offsets", "offsets"),
        (WINDOWS, "tumbling", "window_state", None),
        (WINDOWS, "session", "window_state", None),
        (Sample("currency-1.20.5-hashmap-canonical"), "currency_converter", "rates", "rates"),
        (Sample("sql-2.2.1-rocksdb-native"), "4_group-aggregate", "keyed_state", None),
    ],
    ids=lambda value: str(value or ""),
)
def test_an_export_comes_back(
    sample: Sample, operator: str, table: str, state: str | None, form: str, tmp_path: Path
) -> None:
    file = tmp_path / f"rows.{form}"
    given = [word for uid in sample.uids for word in ("--uid", uid)]
    name = f"{operator}.{table}"
    code, output = run("export", sample.path, name, file, "--format", form, "--with-times", *given)
    assert code == 0, output
    like = {"savepoint": sample.path, "operator": operator, **({"state": state} if state else {})}
    out = imported(file, json.dumps({"uid": operator, "like": like}), tmp_path)
    code, output = run("show", sample.path, name, "-n", "10000", "--output", "json", *given)
    code, found = run("show", out, name, "-n", "10000", "--output", "json", "--uid", operator)
    assert code == 0, found
    assert sorted(found.splitlines()) == sorted(output.splitlines())


def test_rows_without_times_of_last_access_have_that_of_writing(tmp_path: Path) -> None:
    file, table = tmp_path / "rows.csv", "stateful.keyed_state"
    known = [word for uid in STATES.uids for word in ("--uid", uid)]
    assert run("export", STATES.path, table, file, "--format", "csv", *known)[0] == 0
    like = {"savepoint": STATES.path, "operator": "stateful", "ttl_times": "now"}
    out = imported(file, json.dumps({"uid": "stateful", "like": like}), tmp_path)
    _, expected = run("show", STATES.path, table, "-n", "10000", "--output", "json", *known)
    show = ("show", out, table, "-n", "10000", "--output", "json", "--uid", "stateful")
    assert sorted(run(*show)[1].splitlines()) == sorted(expected.splitlines())


ACCOUNTS = """\
account,total,tags,seen,at,code
1,1.5,"[""a"",""b""]",1000,"[5,7]",00ff
2,,,,,
3,nan,[],,,""
"""
KEYED = """
uid: totals
parallelism: 2
max_parallelism: 16
keyed_state:
  key: account
  key_type: LONG
  states:
    - {name: sum, type: DOUBLE, column: total, ttl: true, last_access: seen}
    - {name: tags, kind: list, type: LIST<STRING>}
    - {name: code, type: PRIMITIVE_ARRAY<BYTE>}
  timers:
    - {time_domain: event, column: at, is_list: true}
"""


@pytest.fixture
def accounts(tmp_path: Path) -> Path:
    path = tmp_path / "accounts.csv"
    path.write_text(ACCOUNTS)
    return path


def test_columns_become_states_and_timers(accounts: Path, tmp_path: Path) -> None:
    out = imported(accounts, KEYED, tmp_path)
    _, found = run("show", out, "totals.keyed_state", "--uid", "totals", "--output", "json")
    assert sorted(map(json.loads, found.splitlines()), key=lambda row: row["key"]) == [
        {"key": 1, "sum": 1.5, "tags": ["a", "b"], "code": "00ff"},
        {"key": 3, "sum": "NaN", "tags": None, "code": ""},
    ]
    options = ("--uid", "totals", "--times", "raw", "--output", "json")
    _, timers = run("show", out, "totals.timers", *options)
    assert sorted(json.loads(line)["timestamp"] for line in timers.splitlines()) == [5, 7]


WINDOWED = """
uid: hourly
keyed_state:
  key: [shop, till]
  key_type: TUPLE<STRING, INT>
  states:
    - {name: window-contents, kind: reducing, type: LONG, column: cents}
  window: {start: begin, end: until, allowed_lateness_ms: 5}
"""


def test_rows_of_windows_have_timers_of_their_own(tmp_path: Path) -> None:
    data = tmp_path / "sales.jsonl"
    data.write_text('{"shop":"x","till":1,"cents":3,"begin":0,"until":60}\n')
    out = imported(data, WINDOWED, tmp_path)
    _, found = run("show", out, "hourly.window_state", "--uid", "hourly", "--output", "json")
    assert json.loads(found) == {
        "key": {"f0": "x", "f1": 1},
        "namespace": {"start": 0, "end": 60},
        "window-contents": 3,
    }
    options = ("--uid", "hourly", "--times", "raw", "--output", "json")
    _, timers = run("show", out, "hourly.timers", *options)
    assert sorted(json.loads(line)["timestamp"] for line in timers.splitlines()) == [59, 64]


OPERATOR_STATE = """
uid: buffer
operator_state:
  - {name: ids, kind: list, type: LONG, column: id}
  - {name: offsets, kind: union, type: STRING, column: name}
  - {name: names, kind: broadcast, type: "MAP<LONG, STRING>", key: id, value: name}
"""


def test_columns_become_operator_states(tmp_path: Path) -> None:
    data = tmp_path / "names.jsonl"
    data.write_text('{"id":1,"name":"a"}\n\n{"id":2,"name":"b"}\n')
    out = imported(data, OPERATOR_STATE, tmp_path)
    found = {}
    for table in ("ids", "offsets", "names"):
        _, lines = run("show", out, f"buffer.{table}", "--uid", "buffer", "--output", "json")
        found[table] = sorted(lines.splitlines())
    assert found == {
        "ids": ['{"value": 1}', '{"value": 2}'],
        "offsets": ['{"value": "a"}', '{"value": "b"}'],
        "names": ['{"key": 1, "value": "a"}', '{"key": 2, "value": "b"}'],
    }


def test_an_operator_of_a_base_is_overwritten_and_the_others_stay(
    accounts: Path, tmp_path: Path
) -> None:
    description = KEYED.replace("uid: totals", f"uid: stateful\nbase: {STATES.path}")
    out = imported(accounts, description, tmp_path)
    assert rows(out, "buffer.elements") == rows(STATES.path, "buffer.elements")
    assert {json.loads(row)["key"] for row in rows(out, "stateful.keyed_state")} == {1, 3}


def test_a_directory_of_files_is_one_table(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    for number in (1, 2):
        (folder / f"part-{number}.jsonl").write_text(f'{{"id":{number},"name":"{number}"}}\n')
    out = imported(folder, OPERATOR_STATE, tmp_path)
    _, lines = run("show", out, "buffer.ids", "--uid", "buffer", "--output", "json")
    assert sorted(lines.splitlines()) == ['{"value": 1}', '{"value": 2}']


def test_a_dry_run_writes_nothing(accounts: Path, tmp_path: Path) -> None:
    out = imported(accounts, KEYED, tmp_path, "--dry-run")
    assert not out.exists()


def test_a_savepoint_is_replaced_only_when_told_so(accounts: Path, tmp_path: Path) -> None:
    out = imported(accounts, KEYED, tmp_path)
    code, output = run("import", accounts, out, "--description", tmp_path / "description.yaml")
    assert code == 1
    assert "is a savepoint already" in output
    imported(accounts, KEYED, tmp_path, "--overwrite")


@pytest.mark.parametrize(
    ("data", "description", "message"),
    [
        ("account,total\n1,x\n", KEYED, "has no column 'seen'; it has: account, total"),
        (ACCOUNTS.replace("1.5", "x"), KEYED, "row 1: column 'total' takes double, found 'x'"),
        (ACCOUNTS.replace("[]", "[1"), KEYED, "row 3: column 'tags' takes list<item: string>"),
        (ACCOUNTS.replace("00ff", "0g"), KEYED, "'0g' is not a text of hexadecimal digits"),
        (ACCOUNTS, KEYED.replace("  key_type: LONG\n", ""), "the type of column 'account'"),
        (ACCOUNTS, KEYED.replace("DOUBLE", "DUBLE"), "line 9, keyed_state.states[0].type: 'DUBLE'"),
        (ACCOUNTS + "1,,,,,ff\n", KEYED, "has two rows"),
        (
            ACCOUNTS,
            KEYED.replace("key: account", "key: [account, total]"),
            "is no tuple of as many",
        ),
        (ACCOUNTS, KEYED.replace("uid: totals", "uid: x\nbase: nowhere"), "nowhere does not exist"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    data: str, description: str, message: str, tmp_path: Path
) -> None:
    rows_file, file, out = tmp_path / "rows.csv", tmp_path / "d.yaml", tmp_path / "out"
    rows_file.write_text(data)
    file.write_text(description)
    code, output = run("import", rows_file, out, "--description", file)
    # A column that the call names and the file lacks is a wrong call.
    assert (code, output.count("\n")) == (2 if "has no column" in message else 1, 1), output
    assert message in output
    assert not (out / "_metadata").exists()


def test_a_format_that_nobody_can_tell_is_asked_for(accounts: Path, tmp_path: Path) -> None:
    file = tmp_path / "accounts"
    accounts.rename(file)
    description = tmp_path / "d.yaml"
    description.write_text(KEYED)
    code, output = run("import", file, tmp_path / "out", "--description", description)
    assert code == 1
    assert "do not tell a single format" in output
    imported(file, KEYED, tmp_path, "--format", "csv")


def test_a_state_is_imported_beside_the_others(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("key,last_id\ncustomer-005,text\n")
    state = {"name": "last_id", "kind": "value", "type": "STRING"}
    described = {
        "uid": "stateful",
        "base": STATES.path,
        "keyed_state": {"key": "key", "key_type": "STRING", "states": [state]},
    }
    out = imported(file, json.dumps(described), tmp_path, "--state")
    before, after = (
        {row["key"]: row for row in map(json.loads, rows(path, "stateful.keyed_state"))}
        for path in (STATES.path, out)
    )
    assert after == {key: row | {"last_id": None} for key, row in before.items()} | {
        "customer-005": before["customer-005"] | {"last_id": "text"}
    }
    assert rows(out, "stateful.timers") == rows(STATES.path, "stateful.timers")
    (tmp_path / "alone.yaml").write_text(json.dumps({**described, "base": None}))
    options = ("--description", tmp_path / "alone.yaml", "--state")
    code, output = run("import", file, tmp_path / "other", *options)
    assert code != 0
    assert "base" in output


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_structs_and_columns_of_a_key_go_by_their_names(form: str, tmp_path: Path) -> None:
    given: list[dict[str, Any]] = [
        {
            "zeta": key + 2,
            "alpha": key,
            "mid": key + 1,
            "value": {"mid": 3, "zeta": key, "alpha": 1},
        }
        for key in range(0, 30, 10)
    ]
    file = tmp_path / f"rows.{form}"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(given), file)
    else:
        file.write_text("".join(f"{json.dumps(row)}\n" for row in given))
    description = """
uid: points
keyed_state:
  key: [zeta, mid, alpha]
  key_type: ROW<alpha LONG, mid LONG, zeta LONG>
  states: [{name: value, type: "POJO<org.example.Point, zeta LONG, alpha LONG, mid LONG>"}]
"""
    path = imported(file, description, tmp_path)
    assert [json.loads(row) for row in rows(path, "points.keyed_state")] == [
        {
            # Names of a row are not stored.
            "key": {"f0": row["alpha"], "f1": row["mid"], "f2": row["zeta"]},
            "value": {name: row["value"][name] for name in ("alpha", "mid", "zeta")},
        }
        for row in given
    ]
