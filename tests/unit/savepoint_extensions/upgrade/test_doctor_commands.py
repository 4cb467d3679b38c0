"""The command that tells whether another Flink restores a savepoint, as a user calls it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import run
from support.object_samples import UIDS
from support.terminal import Terminal

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path


def answer(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    """Exit code and the one JSON object that was printed."""
    code, output = run("doctor", *arguments, "--output", "json")
    return code, json.loads(output)


@pytest.fixture
def objects(samples: Path) -> Path:
    return samples / "objects-1.20.5-rocksdb-native"


def test_a_savepoint_that_fits_ends_with_0(samples: Path) -> None:
    path = samples / "states-2.2.1-rocksdb-canonical"
    code, found = answer(path, "--target", "2.2.1", "--backend", "hashmap")
    assert code == 0
    names = ["path", "job", "written_by", "target", "backend", "verdict", "is_restorable"]
    assert list(found) == [*names, "findings", "operators"]
    assert (found["written_by"], found["target"]) == ("2.1 to 2.3", "2.2")
    assert (found["verdict"], found["is_restorable"]) == ("restorable", True)
    assert [one["rule"] for one in found["findings"]] == ["max-parallelism"]
    verdicts = {state["verdict"] for one in found["operators"] for state in one["states"]}
    assert verdicts == {"restorable"}


def test_the_worst_verdict_is_told_with_its_place_reason_advice_and_source(objects: Path) -> None:
    uids = [part for uid in UIDS for part in ("--uid", uid)]
    code, found = answer(objects, "--target", "2.2", *uids)
    assert (code, found["verdict"]) == (3, "silent corruption")
    (shapes,) = [one for one in found["operators"] if one["operator"] == "shapes"]
    assert list(shapes) == ["operator", "hash", "verdict", "findings", "states"]
    states = {state["state"]: state for state in shapes["states"]}
    assert list(states["shape"]) == ["operator", "state", "kind", "verdict", "findings"]
    (finding,) = states["shape"]["findings"]
    assert list(finding) == ["verdict", "rule", "where", "reason", "advice", "source"]
    assert finding["where"] == "value: shop.Shape"
    assert "values are wrong without an error" in finding["reason"]
    assert finding["source"].startswith("FLINK-34037")
    assert states["memo"]["verdict"] == "restorable"
    # The fields are declared as these interfaces; other collections are Kryo's in Flink 2 too.
    (baskets,) = [one for one in found["operators"] if one["operator"] == "baskets"]
    (basket,) = [state for state in baskets["states"] if state["state"] == "basket"]
    places = {(one["rule"], one["where"]) for one in basket["findings"]}
    assert places == {
        ("kryo", "value.codes: java.util.ArrayList"),
        ("kryo", "value.other: java.lang.Object"),
        ("kryo", "value.ranks: java.util.TreeMap"),
        ("kryo-collection", "value.counts: java.util.Map"),
        ("kryo-collection", "value.seen: java.util.Set"),
        ("kryo-collection", "value.tags: java.util.List"),
    }


@pytest.mark.parametrize(
    ("sample", "target", "verdict"),
    [
        ("sql-1.20.5-rocksdb-native", "1.20", "restorable"),
        ("sql-1.20.5-rocksdb-native", "2.2", "unknown"),
        # Kryo 2 can't read the lists of List.of, Kryo 5 reads other objects wrong.
        ("objects-1.20.5-rocksdb-native", "1.20", "not restorable"),
        ("objects-1.20.5-rocksdb-native", "2.0", "silent corruption"),
    ],
)
def test_the_same_savepoint_fits_one_target_and_not_another(
    samples: Path, sample: str, target: str, verdict: str
) -> None:
    code, found = answer(samples / sample, "--target", target, "--from", "1.20.5")
    assert (code, found["verdict"]) == (0 if verdict == "restorable" else 3, verdict)


def test_a_pipe_gets_all_states_and_all_rules(objects: Path) -> None:
    code, output = run("doctor", objects, "--target", "2.2", "--backend", "hashmap")
    assert code == 3
    parts = output.split("\n\n")
    assert parts[0].splitlines()[-1] == "is restorable\tfalse"
    assert parts[1].splitlines()[:2] == ["# States", "operator\tstate\tverdict\trules\tkind"]
    assert parts[2].splitlines()[0] == "# Rules"
    verdicts = [line.partition("\t")[0] for line in parts[2].splitlines()[2:]]
    assert verdicts[0] == "silent corruption"
    assert "savepoint convert PATH OUT" in parts[2]


@pytest.mark.usefixtures("slow")
def test_a_terminal_shows_reasons_that_are_folded_and_whole(objects: Path) -> None:
    with Terminal(("doctor", objects, "--target", "2.2"), columns=80) as terminal:
        assert terminal.finish() == 3
    text = terminal.text
    assert "silent corruption: kryo\n  where   " in text
    assert "condition: native\n" in text
    assert "values are wrong without an error, or the restore fails" in " ".join(text.split())
    _, _, paragraphs = text.partition("silent corruption: kryo")
    assert max(len(line) for line in paragraphs.splitlines() if "://" not in line) <= 80


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "name a release with --target"),
        (("--target", "1.17"), "there are no rules for Flink 1.17; there are rules for 1.18, 1.19"),
        (("--target", "newest"), "'newest' is not a release of Flink"),
        (("--target", "2.2", "--from", "1.15"), ", not by Flink 1.15"),
        (("--target", "2.2", "--backend", "heap"), "'heap' is not one of"),
    ],
)
def test_a_wrong_call_has_exit_code_2(
    objects: Path, options: tuple[str, ...], message: str
) -> None:
    code, output = run("doctor", objects, *options)
    assert code == 2
    assert message in " ".join(output.split())


def test_what_can_not_be_read_is_unknown(samples: Path, tmp_path: Path) -> None:
    sample = samples / "currency-2.2.1-hashmap-canonical"
    path = shutil.copytree(sample, tmp_path / "currency")
    for file in path.iterdir():
        if file.name != "_metadata":
            file.write_bytes(b"\0" * 64)
    code, found = answer(path, "--target", "2.2")
    assert (code, found["verdict"]) == (3, "unknown")
    (summarize,) = [one for one in found["operators"] if one["operator"] == "summarize"]
    assert {finding["rule"] for finding in summarize["findings"]} == {"unread"}
    assert summarize["findings"][0]["where"].startswith("subtask 0: ")


@pytest.mark.usefixtures("slow")
def test_it_needs_neither_spark_nor_machine_code(objects: Path) -> None:
    program = (
        "import sys;"
        "from savepoint_cli.main import main;"
        f"code = main(['doctor', {str(objects)!r}, '--target', '2.2'], standalone_mode=False);"
        "assert code == 3, code;"
        "assert not {'pyspark', 'llvmlite', 'duckdb'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_an_answer_is_one_line_in_python(objects: Path) -> None:
    found = Savepoint.open(str(objects)).compatibility("2.2")
    assert repr(found) == f"Compatibility({str(objects)!r}, 2.2, silent corruption)"
    assert "shape" in found._repr_html_()
    with pytest.raises(ValueError, match="backend is 'heap', expected one of hashmap"):
        Savepoint.open(str(objects)).compatibility("2.2", backend="heap")
