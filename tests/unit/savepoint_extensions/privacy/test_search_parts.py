from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest
from support.sample_rows import Sample, copy_of, file_of

from savepoint_extensions.privacy.found_values import find_in
from savepoint_extensions.privacy.search_parts import FilePart, Findings, PartPlan
from savepoint_formats.metadata import keyed_streams
from savepoint_formats.sources.keyed_source import keyed_handles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from savepoint_extensions.privacy.search_parts import Part


def sent(search: Callable[[Part], Findings], parts: Sequence[Part]) -> Iterator[Findings]:
    """Searches copies of the parts, as other processes get them, from the last to the first."""
    copies = pickle.loads(pickle.dumps((search, parts)))
    findings = [pickle.dumps(copies[0](part)) for part in reversed(copies[1])]
    return map(pickle.loads, reversed(findings))


@pytest.mark.parametrize(
    "name",
    [
        "states-2.2.1-hashmap-canonical",
        "states-2.2.1-rocksdb-native",
        "states-1.20.5-hashmap-changelog",
        "currency-1.20.5-hashmap-inline",
    ],
)
@pytest.mark.usefixtures("slow")
def test_parts_have_the_same_answer_in_any_process(name: str) -> None:
    snapshot = Sample(name).open()
    for text in ("customer-005", "EUR"):
        assert find_in(snapshot, [text], run=sent) == find_in(snapshot, [text])


def test_other_key_groups_are_searched_if_some_are_damaged(tmp_path: Path) -> None:
    whole = Sample("states-2.2.1-hashmap-canonical").open()
    snapshot = copy_of(Sample("states-2.2.1-hashmap-canonical"), tmp_path)
    path = file_of(snapshot, "stateful 0: keyed state")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    expected, answer = (find_in(it, ["EUR"]) for it in (whole, snapshot))
    assert answer.snapshots[0].problems
    remaining = {place.key for place in answer.places if place.key}
    assert remaining
    assert remaining < {place.key for place in expected.places if place.key}


def test_a_file_of_two_operators_is_searched_once() -> None:
    (operator,) = (
        it for it in Sample("states-2.2.1-rocksdb-native").open().operators() if it.has_keyed_state
    )
    plan = PartPlan()
    first, again = (list(plan.parts(operator, [])) for _ in range(2))
    assert len(first) == len(again)
    files = [part for part in first if isinstance(part, FilePart)]
    streams = [
        stream
        for subtask in operator.record.subtasks
        for handle, _ in keyed_handles(subtask)
        for stream in keyed_streams(handle, "")
    ]
    assert sum(part.is_first for part in files) >= len(streams) > 0
    assert not any(part.is_first or part.is_new for part in again if isinstance(part, FilePart))


def test_a_problem_of_several_parts_is_told_once() -> None:
    total = Findings()
    for count in (1, 2):
        total.take(Findings({("", "key", "a"): count}, entries=count, problems=["damaged"]))
    assert total == Findings({("", "key", "a"): 3}, entries=3, problems=["damaged"])
