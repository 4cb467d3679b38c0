"""Chains of checkpoints of a real Flink: a leak is told when the window shows it, and nothing else is."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
from support.java_jobs import JavaJobs
from support.nightly import nightly

from state_processor import Savepoint, Span, Thresholds, watch

if TYPE_CHECKING:
    from pathlib import Path

    from state_processor import WatchRound

UIDS = ("ticks", "batches", "orders", "end")
LEAKS_FROM, WINDOW, COUNT = 15, 8, 30
OF_DAY = 86_400.0
LIMITS = Thresholds({"growth-per-day": 1.0}, {}, Span(WINDOW), Span(WINDOW))


@dataclass(frozen=True, slots=True)
class Chain:
    """Checkpoints in their order, and how many values leaked up to each."""

    directory: Path
    paths: tuple[Path, ...]
    leaked: tuple[int, ...]

    def rounds(self, folder: Path) -> list[WatchRound]:
        """The rounds of a watch that sees a checkpoint at a time, of a copy of the directory."""
        copied, later = folder / "jobs", folder / "later"
        shutil.copytree(self.directory, copied)
        places = [path.relative_to(self.directory) for path in self.paths]
        for place in places:
            (later / place).parent.mkdir(parents=True, exist_ok=True)
            (copied / place).rename(later / place)
        assert not list(copied.glob("*/chk-*"))
        watched = watch(copied, over=Span(WINDOW), after=Span(WINDOW), uids=UIDS)
        answers = []
        for place in places:
            (later / place).rename(copied / place)
            answers.append(watched.round())
        return answers


@pytest.fixture(scope="module", params=["rocksdb", pytest.param("hashmap", marks=nightly)])
def chains(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Chain]:
    folder = tmp_path_factory.mktemp("chains")
    jobs = JavaJobs("2.2.1", folder, "chain_job", "chain.ChainJobs")
    targets = {name: folder / name for name in ("leaking", "healthy")}
    wanted: list[tuple[Any, ...]] = [
        (2, "-", COUNT, LEAKS_FROM, targets["leaking"]),
        (2, "-", 14, 0, targets["healthy"]),
        # Restarted, and at another parallelism.
        (3, "last", COUNT - 14, 0, targets["healthy"]),
    ]
    answers = jobs.run(
        text
        for parallelism, first, count, leaks_from, target in wanted
        for text in (
            *(request.param, str(parallelism), first, str(count), str(leaks_from)),
            target.as_uri(),
        )
    )
    assert len(answers) == 2 * COUNT
    return {
        name: Chain(
            target,
            tuple(target.joinpath(*answer["path"].split("/")[-2:]) for answer in own),
            tuple(answer["leaked"] for answer in own),
        )
        for (name, target), own in zip(
            targets.items(), (answers[:COUNT], answers[COUNT:]), strict=True
        )
    }


FADING = "orders.fading"


def slope(points: list[tuple[float, int]]) -> float:
    return median((after[1] - at[1]) / (after[0] - at[0]) for at, after in combinations(points, 2))


def grows_steadily(points: list[tuple[float, int]]) -> bool:
    """The rule of the docs, by sizes of all checkpoints so far that were counted in full."""
    before, window = points[:-WINDOW], points[-WINDOW:]
    if len(before) < WINDOW:
        return False
    whole = slope(window)
    halves = [window[: WINDOW // 2], window[-WINDOW // 2 :]]
    slopes = sorted((b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(window, 2))
    spread = 1.96 * (WINDOW * (WINDOW - 1) * (2 * WINDOW + 5) / 18) ** 0.5
    return (
        slopes[int((len(slopes) - spread) / 2)] > 0
        and all(slope(half) >= whole / 2 for half in halves)
        and median(size for _, size in halves[1]) > max(size for _, size in before)
    )


def counted_size(path: Path, state: str) -> tuple[float, int]:
    """When a checkpoint was written, and the size of a state in it, counted in full."""
    size = Savepoint.open(path, uids=UIDS).stats(state).states[0].size
    return (path / "_metadata").stat().st_mtime, size


def fading_by_rule(chain: Chain, told: set[int]) -> bool:
    """Whether the state that loses entries by the clock did grow where that is told.

    On a machine that stands still for a while it does.
    """
    points = [counted_size(path, FADING) for path in chain.paths[: max(told, default=0)]]
    return all(grows_steadily(points[:number]) for number in told)


def test_the_alert_comes_at_the_checkpoint_at_which_the_window_shows_the_leak(
    chains: dict[str, Chain], tmp_path: Path
) -> None:
    chain = chains["leaking"]
    answers = chain.rounds(tmp_path)
    points: list[tuple[float, int]] = []
    expected = set()
    for number, path in enumerate(chain.paths, 1):
        points.append(counted_size(path, "orders.open"))
        if grows_steadily(points):
            expected.add(number)
    alerts = {
        number: {breach.subject for breach in LIMITS.breaches(answer)}
        for number, answer in enumerate(answers, 1)
    }
    told = {number for number, subjects in alerts.items() if "orders.open" in subjects}
    assert told == expected
    # Half of the window at least must show the leak, and the whole window is enough.
    first = min(told)
    assert LEAKS_FROM + WINDOW // 2 - 1 <= first <= LEAKS_FROM + WINDOW - 1, first
    assert set(range(LEAKS_FROM + WINDOW - 1, COUNT + 1)) <= told
    assert fading_by_rule(chain, {it for it in alerts if FADING in alerts[it]})
    assert set().union(*alerts.values()) - {FADING} == {"orders.open"}
    leaked = {
        answer.id: state.entries
        for answer in answers
        for state in answer.states
        if state.state == "open"
    }
    assert leaked[COUNT] - leaked[LEAKS_FROM - 1] == chain.leaked[-1]


def test_a_job_that_fills_cleans_and_is_rescaled_is_never_told(
    chains: dict[str, Chain], tmp_path: Path
) -> None:
    answers = chains["healthy"].rounds(tmp_path)
    told = [
        (number, breach.subject)
        for number, answer in enumerate(answers, 1)
        for breach in LIMITS.breaches(answer)
    ]
    assert {subject for _, subject in told} <= {FADING}
    assert fading_by_rule(chains["healthy"], {number for number, _ in told})
    sizes = {
        name: [next(it.size for it in answer.states if it.state == name) for answer in answers]
        for name in ("latest", "closed", "fading")
    }
    assert sizes["latest"][0] < sizes["latest"][2] == sizes["latest"][-1]
    assert min(sizes["closed"][9:]) == 0 < max(sizes["closed"])
    # 600 values come with each checkpoint, and only those of the last few are there.
    fading = [it.entries for it in answers[-1].states if it.state == "fading"]
    assert fading[0] < COUNT * 600 / 2
    assert {answer.operators[0].parallelism for answer in answers} == {2, 3}


def test_a_round_reads_no_more_than_what_is_new_and_finds_what_a_count_of_all_finds(
    chains: dict[str, Chain], tmp_path: Path
) -> None:
    for chain in chains.values():
        for answer, path in zip(
            chain.rounds(tmp_path / chain.directory.name), chain.paths, strict=True
        ):
            assert answer.read_size <= answer.new_size + answer.metadata_size
            assert answer.intact_id == answer.id
            if (answer.id or 0) % 5:
                continue
            at = datetime.fromtimestamp((path / "_metadata").stat().st_mtime, UTC)
            report = Savepoint.open(path, uids=UIDS).stats(at=at)
            watched = {
                it.state: (it.entries, it.size) for it in answer.states if it.operator == "orders"
            }
            counted = {
                it.state: (it.entries, it.size) for it in report.states if it.operator == "orders"
            }
            assert watched == counted
            overdue = sum(it.overdue or 0 for it in answer.states)
            assert overdue == sum(it.overdue or 0 for it in report.timers)
