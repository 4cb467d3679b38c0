"""A changed query is one change among others of a file, and of a write."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.commands import run
from support.masks import SECRET
from support.one_after_another import contents

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

CASE = "stream-exec-group-aggregate_1/group-aggregate-simple"
UID = "4_group-aggregate"
NUMBERS = {
    "rules": [{"field": "key.b", "method": "hash"}, {"field": "value.cnt", "method": "hash"}]
}


def _entries(new_plan: Path) -> list[dict[str, Any]]:
    return [
        {"sql-migrate": {"new": str(new_plan), "accept": ["total"]}},
        {"mask": NUMBERS},
        {"rescale": {"max-parallelism": 64, "parallelism": 2}},
        {"rename-operator": {"old": UID, "new": "totals"}},
    ]


def _applied(path: Path, entries: list[dict[str, Any]], out: Path, *options: str | Path) -> None:
    file = out.with_suffix(".json")
    file.write_text(json.dumps(entries))
    code, output = run("apply", path, file, out, *options)
    assert code == 0, output


@pytest.mark.usefixtures("spark")
def test_a_changed_query_masks_a_rescale_and_a_rename_in_one_write(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAVEPOINT_MASK_SECRET", SECRET)
    plan, path = corpus / "sql-plans" / f"{CASE}.json", corpus / "sql" / CASE
    content = json.loads(plan.read_text())
    node = next(it for it in content["nodes"] if it["id"] == 4)
    total = {**node["aggCalls"][0], "name": "total", "internalName": "$SUM$1", "argList": [1]}
    calls = [*node["aggCalls"], {**total, "type": "INT", "distinct": False}]
    node.update(aggCalls=calls, aggCallNeedRetractions=[False] * len(calls))
    new_plan = tmp_path / "new-plan.json"
    new_plan.write_text(json.dumps(content))
    entries = _entries(new_plan)

    _applied(path, entries, tmp_path / "at-once", "--plan", plan)
    before = path
    for number, entry in enumerate(entries):
        out = tmp_path / f"after-{number}"
        _applied(before, [entry], out, "--plan", new_plan if number else plan)
        before = out
    at_once, in_turn = contents(tmp_path / "at-once", ["totals"]), contents(before, ["totals"])
    assert at_once == in_turn
    assert len(at_once["totals"]["entries"]) > 0
    migrated = Savepoint.open(tmp_path / "at-once", plan=new_plan)
    assert migrated.operator("totals").record.max_parallelism == 64
    keys = migrated.scan("totals.keyed_state", columns=["key"]).to_arrow().to_pylist()
    # The plan does not know an operator by its new uid, nor the names of its columns.
    assert {1, 2}.isdisjoint(row["key"]["f0"] for row in keys)
    stored = contents(path, [UID])[UID]
    assert at_once["totals"]["states"] != stored["states"]
    assert at_once["totals"]["entries"] != stored["entries"]
