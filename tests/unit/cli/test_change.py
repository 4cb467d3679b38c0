"""The commands that change states and keys: what they tell before Spark is started."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession
from support.commands import run
from support.slow_cases import slow_unless

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHANGES = {
    "rename-state": ("stateful", "last_id", "newest", "OUT"),
    "rename-field": ("stateful", "customer", "name", "full_name", "OUT"),
    "add-field": ("stateful", "customer", "vip", "BOOLEAN", "OUT", "--value", "true"),
    "drop-field": ("stateful", "customer", "tags", "OUT"),
    "widen-field": ("stateful", "customer", "purchases", "LONG", "OUT"),
    "update-state": ("stateful", "last_id", "OUT", "--set", "last_id + 1"),
    "delete-keys": ("stateful", "OUT", "--where", "last_id = 0"),
}

# Each value is encoded anew: fields lie in another order, or are others.
FIELD_CHANGES = {
    "rename-field": ("stateful", "customer", "name", "zzz"),
    "add-field": ("stateful", "customer", "vip", "BOOLEAN"),
    "drop-field": ("stateful", "customer", "address.zip"),
    "widen-field": ("stateful", "customer", "purchases", "LONG"),
}


@pytest.fixture(autouse=True)
def _without_session() -> Iterator[None]:
    """None of these calls may need a session, which takes seconds."""
    before = SparkSession.getActiveSession()
    yield
    assert SparkSession.getActiveSession() is before


@pytest.fixture
def states(samples: Path) -> Path:
    return samples / "states-2.2.1-hashmap-native"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def call(command: str, path: Path, out: Path, **others: str) -> tuple[int, str]:
    """Calls a command of ``CHANGES`` with other words instead of some."""
    named = {"OUT": str(out), **others}
    return run(command, path, *(named.get(word, word) for word in CHANGES[command]))


@pytest.mark.parametrize("command", CHANGES)
def test_an_operator_that_there_is_not_has_exit_code_2(
    command: str, states: Path, out: Path
) -> None:
    code, output = call(command, states, out, stateful="statefull")
    assert (code, output.count("\n")) == (2, 1)
    assert "has no operator 'statefull'; it has: " in output
    assert not out.exists()


@pytest.mark.parametrize("command", sorted(CHANGES.keys() - {"delete-keys"}))
def test_a_state_that_there_is_not_has_exit_code_2(command: str, states: Path, out: Path) -> None:
    code, output = call(command, states, out, last_id="lastid", customer="lastid")
    assert (code, output.count("\n")) == (2, 1)
    assert "operator stateful has no state 'lastid'; it has: " in output
    assert "did you mean 'last_id'?" in output
    assert not out.exists()


@pytest.mark.parametrize(
    ("command", "others", "expected", "message"),
    [
        ("rename-field", {"name": "nam"}, 2, "did you mean 'name'?"),
        ("rename-field", {"full_name": "age"}, 1, "'age'"),
        ("drop-field", {"tags": "tagss"}, 2, "did you mean 'tags'?"),
        ("drop-field", {"customer": "last_id"}, 1, "last_id"),
        ("widen-field", {"purchases": "purchase"}, 2, "did you mean 'purchases'?"),
        ("widen-field", {"LONG": "LONK"}, 2, "LONK"),
        ("widen-field", {"LONG": "BOOLEAN"}, 1, "does not hold all values"),
    ],
)
def test_what_is_wrong_with_a_field(
    command: str, others: dict[str, str], expected: int, message: str, states: Path, out: Path
) -> None:
    code, output = call(command, states, out, **others)
    assert (code, "Error: " in output) == (expected, True)
    assert message in output
    assert not out.exists()


@pytest.mark.parametrize("command", slow_unless("widen-field".__eq__, FIELD_CHANGES))
def test_a_dry_run_tries_a_change_of_fields_without_spark(
    command: str, states: Path, out: Path
) -> None:
    given = FIELD_CHANGES[command]
    code, output = run(command, states, *given, out, "--dry-run", "--output", "json")
    assert code == 0, output
    actions = {one["operator"]: one["action"] for one in json.loads(output)["operators"]}
    assert actions["stateful"] == "changed"
    assert not out.exists()


@pytest.mark.parametrize(
    "state", ["4_group-aggregate accState", "13_deduplicate deduplicate-state"]
)
@pytest.mark.parametrize(
    "given",
    [("add-field", "NEXT", "BIGINT"), ("drop-field", "f1"), ("widen-field", "f1", "WIDER")],
    ids=lambda given: given[0],
)
def test_a_dry_run_tries_a_change_of_rows_of_sql(
    given: tuple[str, ...], state: str, samples: Path, out: Path
) -> None:
    """Their keys are rows, too, which tables show without their kind."""
    is_sum = state.endswith("accState")
    words = {"NEXT": "f5" if is_sum else "f4", "WIDER": "DECIMAL(38, 2)" if is_sum else "BIGINT"}
    command, *fields = (words.get(word, word) for word in given)
    operator, name = state.split()
    path = samples / "sql-2.2.1-hashmap-canonical"
    options = (out, "--dry-run", "--output", "json")
    code, output = run(command, path, operator, name, *fields, *options)
    assert code == 0, output
    actions = {one["operator"]: one["action"] for one in json.loads(output)["operators"]}
    assert actions[operator] == "changed"
    assert not out.exists()


@pytest.mark.parametrize(
    ("command", "missing"), [("update-state", "--set"), ("delete-keys", "--where")]
)
def test_what_must_be_said_has_exit_code_2(
    command: str, missing: str, states: Path, out: Path
) -> None:
    words = CHANGES[command][: CHANGES[command].index("OUT")]
    code, output = run(command, states, *words, out)
    assert code == 2
    assert f"Missing option '{missing}'" in output


class TestNamesInHeaders:
    @pytest.mark.parametrize(
        "words",
        [
            ("rename-state", "stateful", "last_id", "newest"),
            ("rename-class", "shop.Customer", "shop.Client"),
            ("rename-class", "shop.Customer", "shop.Client", "--operator", "stateful"),
        ],
        ids=" ".join,
    )
    def test_a_dry_run_says_what_would_be_written(
        self, words: tuple[str, ...], states: Path, out: Path
    ) -> None:
        command, first, second, *rest = words
        at = 1 if command == "rename-state" else 0
        rest.insert(at, str(out))
        code, output = run(command, states, first, second, *rest, "--dry-run", "--output", "json")
        assert code == 0, output
        operators = json.loads(output)["operators"]
        actions = {one["operator"]: one["action"] for one in operators}
        assert actions.pop("stateful") == "changed"
        assert set(actions.values()) == {"copied"}
        assert not out.exists()

    def test_a_dry_run_reads_the_state_that_passes_through(
        self, states: Path, tmp_path: Path, out: Path
    ) -> None:
        damaged = tmp_path / "damaged"
        shutil.copytree(states, damaged)
        _, output = run("files", damaged, "--output", "json")
        files = map(json.loads, output.splitlines())
        keyed = [
            file["path"]
            for file in files
            if any(what.startswith("stateful ") for what in file["references"])
        ]
        assert keyed
        for name in keyed:
            data = (damaged / name).read_bytes()
            (damaged / name).write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))
        code, output = run("rename-state", damaged, "stateful", "last_id", "x", out, "--dry-run")
        assert code == 1, output
        assert any(name in output for name in keyed)
        assert not out.exists()

    def test_two_states_cannot_have_one_name(self, states: Path, out: Path) -> None:
        code, output = run("rename-state", states, "stateful", "last_id", "memos", out)
        assert (code, output.count("\n")) == (1, 1)
        assert "has a state 'memos' already" in output

    @pytest.mark.parametrize(
        ("options", "known"),
        [
            ((), "serializers name: shop.Address, shop.Customer"),
            (("--operator", "buffer"), "name: none"),
        ],
        ids=["all", "one"],
    )
    def test_a_class_that_nothing_names_has_exit_code_2(
        self, options: tuple[str, ...], known: str, states: Path, out: Path
    ) -> None:
        code, output = run("rename-class", states, "shop.Custome", "a.B", out, *options)
        assert (code, output.count("\n")) == (2, 1)
        assert known in output

    def test_a_savepoint_is_replaced_only_when_told_so(self, states: Path, out: Path) -> None:
        assert run("copy", states, out)[0] == 0
        words = ("rename-state", states, "stateful", "last_id", "newest", out, "--dry-run")
        code, output = run(*words)
        assert (code, "is a savepoint already" in output) == (1, True)
        assert run(*words, "--overwrite")[0] == 0


def test_operators_are_called_by_the_uids_that_are_given(samples: Path, out: Path) -> None:
    savepoint, uids = samples / "currency-1.20.5-hashmap-canonical", out.with_name("uids.txt")
    uids.write_text("summarize\n", encoding="utf-8")
    for option in (("--uid", "summarize"), ("--uids-file", uids)):
        words = ("summarize", "total", "sum", out, "--dry-run")
        code, output = run("rename-state", savepoint, *words, *option, "--output", "json")
        assert code == 0, output
        assert "summarize" in {one["operator"] for one in json.loads(output)["operators"]}
