"""Plans of Flink's restore tests are compared with changed copies of themselves."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import lines, run

from savepoint_extensions.sql_jobs.sql_changes import given_matches
from state_processor import NotAcceptedError, PlanError, Savepoint, sql_diff

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CASE = "stream-exec-group-aggregate_1/group-aggregate-simple"
Change = dict[str, Any]


@pytest.fixture
def plan(corpus: Path) -> Path:
    return corpus / "sql-plans" / f"{CASE}.json"


@pytest.fixture
def changed(plan: Path, tmp_path: Path) -> Callable[..., Path]:
    """Returns a maker of copies of the plan whose aggregation has other fields."""

    def change(**fields: object) -> Path:
        content = json.loads(plan.read_text())
        next(node for node in content["nodes"] if node["id"] == 4).update(fields)
        path = tmp_path / "changed.json"
        path.write_text(json.dumps(content))
        return path

    return change


def test_rows_and_bytes_are_those_of_the_savepoint(plan: Path, corpus: Path) -> None:
    changes = sql_diff(plan, plan, corpus / "sql" / CASE)
    (aggregate,) = (change for change in changes if change.old == 4)
    assert (aggregate.verdict, aggregate.new, aggregate.reason, aggregate.rows) == (
        "same",
        4,
        "",
        2,
    )
    assert aggregate.size


def test_the_command_exits_with_3_if_state_needs_history(
    plan: Path, changed: Callable[..., Path]
) -> None:
    shown = lines("sql-diff", plan, plan)
    assert {line["verdict"] for line in shown} == {"same"}
    assert {line["rows"] for line in shown} == {None}
    code, output = run("sql-diff", plan, changed(grouping=[1]))
    assert code == 3
    assert "it groups by other columns" in output


@pytest.mark.usefixtures("slow")
def test_a_file_of_matches_may_be_no_yaml(tmp_path: Path) -> None:
    path = tmp_path / "matches.yaml"
    for data in (b"[" * 5000, b"4: [7]", b"\xff", b"a: !!x"):
        path.write_bytes(data)
        with pytest.raises(PlanError, match=r"matches\.yaml"):
            given_matches(path)


def test_a_savepoint_is_written_only_if_nothing_is_lost(
    plan: Path, changed: Callable[..., Path], corpus: Path, tmp_path: Path
) -> None:
    savepoint, out = corpus / "sql" / CASE, tmp_path / "migrated"
    code, output = run("sql-migrate", plan, changed(grouping=[1]), savepoint, out, "--dry-run")
    assert (code, "it groups by other columns" in output, "--allow-loss" in output) == (
        1,
        True,
        True,
    )
    (summary,) = lines("sql-migrate", plan, plan, savepoint, out, "--dry-run")
    assert {change["verdict"] for change in summary["sql_changes"]} == {"same"}
    (summary,) = lines(
        *("sql-migrate", plan, changed(grouping=[1]), savepoint, out, "--dry-run", "--allow-loss")
    )
    assert "4_group-aggregate" in summary["left_out"]
    assert not out.exists()


def test_matches_correct_what_belongs_together(plan: Path, tmp_path: Path) -> None:
    (tmp_path / "pairs.yaml").write_text("4: null\n")
    verdicts = {
        (change.old, change.new): change.verdict
        for change in sql_diff(plan, plan, matches=tmp_path / "pairs.yaml")
    }
    assert verdicts[4, None] == "lost"
    assert verdicts[None, 4] == "rebuilt"


@pytest.mark.parametrize("text", ["4", "- 4", "4: seven", "{"])
def test_a_file_without_pairs_is_refused(plan: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "pairs.yaml").write_text(text)
    with pytest.raises(PlanError, match=r"pairs\.yaml"):
        sql_diff(plan, plan, matches=tmp_path / "pairs.yaml")


def test_matches_of_unknown_operators_are_refused(plan: Path) -> None:
    with pytest.raises(PlanError, match="the old plan has no operator with state 99"):
        sql_diff(plan, plan, matches={99: 4})
    with pytest.raises(PlanError, match="the new plan has no operator with state 99"):
        sql_diff(plan, plan, matches={4: 99})


def test_another_version_of_an_operator_is_rebuilt(
    plan: Path, changed: Callable[..., Path]
) -> None:
    (change,) = (
        change
        for change in sql_diff(plan, changed(type="stream-exec-group-aggregate_2"))
        if change.old == 4
    )
    assert (change.verdict, change.reason) == ("rebuilt", "version 2 of the operator, 1 before")


def test_every_plan_is_the_same_as_itself(corpus: Path) -> None:
    plans = sorted((corpus / "sql-plans").rglob("*.json"))
    assert len(plans) > 70
    for path in plans:
        assert {change.verdict for change in sql_diff(path, path)} <= {"same"}, path


def _calls(plan: Path) -> list[Change]:
    content = json.loads(plan.read_text())
    calls: list[Change] = next(it for it in content["nodes"] if it["id"] == 4)["aggCalls"]
    return calls


@pytest.fixture
def with_total(plan: Path, changed: Callable[..., Path]) -> Path:
    """The plan with one more aggregate, which begins empty."""
    total = {**_calls(plan)[0], "name": "total", "internalName": "$SUM$1", "argList": [1]}
    total |= {"type": "INT", "distinct": False}
    return changed(aggCalls=[*_calls(plan), total], aggCallNeedRetractions=[False] * 4)


def test_what_begins_empty_is_accepted_by_its_name(
    plan: Path, with_total: Path, corpus: Path, tmp_path: Path
) -> None:
    savepoint, out = corpus / "sql" / CASE, tmp_path / "migrated"
    command = ("sql-migrate", plan, with_total, savepoint, out, "--dry-run")
    for more in ((), ("--allow-loss",), ("--accept", "other")):
        code, output = run(*command, *more)
        assert (code, "begins empty" in output, "--accept" in output) == (3, True, True)
    assert lines(*command, "--accept", "total")
    assert run("sql-diff", plan, with_total)[0] == 3
    assert run("sql-diff", plan, with_total, "--accept", "total")[0] == 0
    opened = Savepoint.open(savepoint, plan=plan)
    with pytest.raises(NotAcceptedError, match=r"operator 4: total = .* begins empty"):
        opened.sql_migrate(with_total)
    opened.sql_migrate(with_total, accept=["total"])


def test_an_entry_of_a_file_plans_what_the_command_plans(
    plan: Path, with_total: Path, corpus: Path, tmp_path: Path
) -> None:
    savepoint, out, file = corpus / "sql" / CASE, tmp_path / "out", tmp_path / "changes.yaml"
    command = ("sql-migrate", plan, with_total, savepoint, out)
    apply = ("apply", savepoint, file, out, "--plan", plan, "--dry-run")
    file.write_text(run(*command, "--print-change")[1])
    code, output = run(*apply)
    assert (code, "begins empty" in output, f"{file} line 1" in output) == (3, True, True)
    file.write_text(run(*command, "--accept", "total", "--print-change")[1])
    (planned,) = lines(*apply)
    assert [row["change"] for row in planned.pop("changes")] == ["sql-migrate"]
    assert [planned] == lines(*command, "--accept", "total", "--dry-run")


@pytest.mark.parametrize(
    ("function", "new", "verdict"),
    [
        ("SUM", "INT NOT NULL", "same"),
        ("SUM", "BIGINT", "carried over"),
        ("MIN", "BIGINT", "carried over"),
        ("FIRST_VALUE", "INT NOT NULL", "same"),
        # The fields of its accumulator are not known.
        ("FIRST_VALUE", "BIGINT", "rebuilt"),
        ("SUM", "SMALLINT", "rebuilt"),
        ("SUM", "DOUBLE", "rebuilt"),
    ],
)
def test_an_aggregate_of_another_type_is_the_same_aggregate(
    plan: Path, tmp_path: Path, function: str, new: str, verdict: str
) -> None:
    paths = []
    for kind in ("INT", new):
        content = json.loads(plan.read_text().replace("`a` INT", f"`a` {kind}"))
        node = next(it for it in content["nodes"] if it["id"] == 4)
        call = {**node["aggCalls"][1], "internalName": f"${function}$1", "filterArg": -1}
        node["aggCalls"] = [{**call, "type": kind}, node["aggCalls"][0]]
        node["aggCallNeedRetractions"] = [False, False]
        paths.append(tmp_path / f"{kind}.json")
        paths[-1].write_text(json.dumps(content))
    (change,) = (it for it in sql_diff(*paths) if it.old == 4)
    assert (change.verdict, change.begin_empty) == (verdict, ()), change.reason
    assert "new" not in change.reason


def test_a_renamed_column_is_told(plan: Path, tmp_path: Path) -> None:
    path = tmp_path / "renamed.json"
    text = plan.read_text().replace("`a`", "`alpha`").replace('"name": "a"', '"name": "alpha"')
    path.write_text(json.dumps(json.loads(text.replace('"name" : "a"', '"name" : "alpha"'))))
    (unknown,) = (it for it in sql_diff(plan, path) if it.old == 4)
    assert unknown.begin_empty
    for renames in ({"a": "alpha"}, {"source_t.a": "alpha"}):
        (change,) = (it for it in sql_diff(plan, path, renames=renames) if it.old == 4)
        assert change.verdict == "same", change.reason
    assert run("sql-diff", plan, path, "--rename", "a=alpha")[0] == 0
    with pytest.raises(PlanError, match="no table of the old plan has a column ä"):
        sql_diff(plan, path, renames={"ä": "alpha"})


def _joined(path: Path, name: str) -> Path:
    """A plan that joins three tables, of which the last has a column of this name."""
    scans = [
        {
            "id": number,
            "type": "stream-exec-table-source-scan_1",
            "outputType": f"ROW<`k` INT, `{column}` INT>",
            "scanTableSource": {"table": {"identifier": f"t{number}"}},
        }
        for number, column in enumerate(("a", "b", name), 1)
    ]
    join = {
        "id": 4,
        "type": "stream-exec-multi-join_1",
        "outputType": f"ROW<`k` INT, `a` INT, `k0` INT, `b` INT, `k1` INT, `{name}` INT>",
        "inputUniqueKeys": [[], [], []],
    }
    edges = [{"source": scan["id"], "target": 4} for scan in scans]
    path.write_text(json.dumps({"flinkVersion": "2.3", "nodes": [*scans, join], "edges": edges}))
    return path


def test_types_in_the_state_of_a_join_of_many_inputs_have_names(tmp_path: Path) -> None:
    plans = [_joined(tmp_path / f"{name}.json", name) for name in ("c", "d")]
    (change,) = (it for it in sql_diff(*plans, renames={"c": "d"}) if it.old == 4)
    assert (change.verdict, change.reason) == (
        "rebuilt",
        "the types in its state have the old names of d",
    )


def test_a_column_in_place_of_another_one_is_accepted_by_its_name(
    corpus: Path, tmp_path: Path
) -> None:
    folder = corpus / "sql-plans" / "stream-exec-deduplicate_1"
    plan = next(iter(sorted(folder.rglob("*.json"))))
    path = tmp_path / "renamed.json"
    path.write_text(re.sub(r"([`\"])user([`\"])", r"\1buyer\2", plan.read_text()))
    (change,) = (it for it in sql_diff(plan, path) if "Deduplicate" in it.description)
    assert (change.verdict, change.begin_empty) == ("carried over", ("buyer",)), change.reason
    assert "buyer is new: null in old rows" in change.reason
    assert run("sql-diff", plan, path)[0] == 3
    assert run("sql-diff", plan, path, "--accept", "buyer")[0] == 0
    assert run("sql-diff", plan, path, "--rename", "user=buyer")[0] == 0
