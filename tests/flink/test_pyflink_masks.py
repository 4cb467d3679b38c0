"""A real PyFlink goes on from a masked savepoint, and answers as the mask says."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from support.masks import SECRET, hashed
from support.nightly import nightly
from support.pyflink_jobs import PyFlinkJob

from savepoint_extensions.privacy.permutation import permuted_integer
from state_processor import MaskError, MaskRules, Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

WINDOWS = ("sessions", "tumbling", "threes")
ELEMENTS = 'ListState(Types.ROW_NAMED(["number", "key"], [Types.LONG(), Types.STRING()]))'
RULES = {"rules": "MapState(Types.STRING(), Types.LONG())"}
TYPES: dict[str, dict[str, str]] = {
    "timed": {"total": "Types.LONG()", "label": "Types.STRING()", "words": RULES["rules"]},
    "with_rules": RULES,
    **{uid: {"window-contents": ELEMENTS} for uid in WINDOWS},
}
EVENTS = [(1, "ann"), (2, "bob"), (3, "ann"), (7, "ann"), (8, "bob"), (12, "cy"), (13, "ann")]
LATER = [(14, "bob"), (15, "ann"), (16, "ann")]
OF_PYFLINK = {
    ("tumbling", "fire-time"),
    ("threes", "count"),
    ("threes", "tumble-count-assigner"),
    ("numbers", "SourceReaderState"),
}


def masked(number: int) -> int:
    return permuted_integer(SECRET.encode(), number)


def groups(key: str, gap: int) -> list[list[int]]:
    """Numbers of a key, divided where there are ``gap`` and more between two."""
    numbers, groups = [number for number, of in (*EVENTS, *LATER) if of == key], [[0]]
    for number in numbers:
        if number - groups[-1][-1] > gap or groups[-1] == [0]:
            groups.append([])
        groups[-1].append(number)
    return groups[1:]


def in_tens(key: str) -> list[list[int]]:
    """Numbers of a key by windows of ten seconds; the time of a number is a second later."""
    by_window: dict[int, list[int]] = {}
    for number, of in (*EVENTS, *LATER):
        if of == key:
            by_window.setdefault((number + 1) // 10, []).append(number)
    return list(by_window.values())


def elements(key: str, numbers: list[int]) -> list[list[Any]]:
    before = {number for number, _ in EVENTS}
    return [[masked(it) if it in before else it, hashed(key)] for it in numbers]


def timed(key: str) -> dict[str, Any]:
    """States of a key: masked, then with the later events."""
    old, new = ([number for number, of in events if of == key] for events in (EVENTS, LATER))
    label = f"label of {hashed(key)}" if new else hashed(f"label of {key}")
    words = {hashed(f"word {number}"): masked(number) for number in old}
    return {
        "total": masked(sum(old)) + sum(new),
        "label": label,
        "any": {"number": (new or old)[-1]},
        "words": words | {f"word {number}": number for number in new},
    }


def expected() -> Counter[str]:
    """All answers that a masked job must give."""
    answers: list[list[Any]] = []
    rules = {hashed(key): masked(number) for number, key in EVENTS}
    for number, key in LATER:
        rules |= {hashed(key): number}
        answers.append(["with_rules", None, {"rules": dict(rules)}])
    for key in ("ann", "bob", "cy"):
        name, states = hashed(key), timed(key)
        for number in (number for number, of in (*EVENTS, *LATER) if of == key):
            answers.append(["timed", name, {"time": number * 1000 + 60_000, **states}])
        for numbers in groups(key, 2):
            times = [numbers[0] * 1000 + 1000, numbers[-1] * 1000 + 4000]
            answers.append(["sessions", name, {"times": times, "elements": elements(key, numbers)}])
        for numbers in in_tens(key):
            start = (numbers[0] + 1) // 10 * 10_000
            contents = elements(key, numbers)
            window: list[Any] = [
                "tumbling",
                name,
                {"times": [start, start + 10_000], "elements": contents},
            ]
            # One of the continuous trigger, and one at the end of the window.
            answers += [window, window]
    for key, numbers in (("ann", [13, 15, 16]), ("bob", [2, 8, 14])):
        contents = elements(key, numbers)
        answers.append(["threes", hashed(key), {"times": [], "elements": contents}])
    return Counter(map(as_text, answers))


def as_text(answer: list[Any]) -> str:
    uid, key, told = answer
    return repr([uid, key, sorted((name, in_order(value)) for name, value in told.items())])


def in_order(value: Any) -> Any:
    return sorted(value.items()) if isinstance(value, dict) else value


def answers(folder: Path) -> Counter[str]:
    return Counter(
        as_text(ast.literal_eval(line))
        for path in folder.glob("states.*")
        for line in path.read_text(encoding="utf-8").splitlines()
    )


@nightly
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_masked_job_answers_as_the_mask_says(
    spark: SparkSession, tmp_path: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAVEPOINT_MASK_SECRET", SECRET)
    first = PyFlinkJob(
        tmp_path / "first",
        backend=backend,
        events=EVENTS,
        formats=("CANONICAL",),
        program="masked.py",
    )
    path = first.run()["CANONICAL"]
    rules = MaskRules.of_text("rules: [{type: [text, bytes, integer], method: hash}]")
    untyped = Savepoint.load(spark, path, uids=tuple(TYPES))
    with pytest.raises(MaskError, match="timed/total: value"):
        untyped.masked(rules, strict=True)
    typed = Savepoint.load(spark, path, uids=tuple(TYPES), types=TYPES)
    written = typed.masked(rules).write(tmp_path / "masked")
    own = {
        (field.operator, field.state) for field in written.masked if field.method == "Flink's own"
    }
    assert own == OF_PYFLINK
    after = PyFlinkJob(
        tmp_path / "after",
        backend=backend,
        events=[(number, hashed(key)) for number, key in LATER],
        formats=(),
        restored=tmp_path / "masked",
        program="masked.py",
    )
    after.run()
    assert answers(after.folder) == expected()
