"""Numbers of a round against thresholds, in a line each."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from savepoint_extensions.watch.breaches import unjudged
from savepoint_extensions.watch.threshold_file import Thresholds
from savepoint_extensions.watch.watch_round import (
    WatchedKey,
    WatchedOperator,
    WatchedState,
    WatchRound,
)

STATE = WatchedState(
    *("orders", "open", 100, 5_000_000, 0.0),
    growth_per_day=2e9,
    steady_growth_per_day=1.5e9,
    expired_share=0.25,
    overdue=12,
)
ANSWER = WatchRound(
    path="jobs/chk-7",
    id=7,
    time="2026-01-01 00:00:00Z",
    age_seconds=600.0,
    job="jobs",
    size=8_000_000,
    new_size=10,
    metadata_size=10,
    in_flight_size=4_000,
    intact_id=7,
    intact_time=f"{datetime.now(UTC) - timedelta(hours=2):%Y-%m-%d %H:%M:%SZ}",
    states=(STATE,),
    operators=(WatchedOperator("orders", 2, 5_000_000, 1.8, 9.5, 1.0),),
    keys=(WatchedKey("orders", "42", 3, 900, 40_000, 0.1),),
    measured=(7,),
    read_size=10,
    seconds=0.1,
    problems=(),
)

LINES = {
    "size: 7 MB": "checkpoint 7 has 8.0 MB, above 7.0 MB",
    "state-size: 4 MB": "orders.open has 5.0 MB, above 4.0 MB",
    "states: {orders.open: {size: 4 MB}}": "orders.open has 5.0 MB, above 4.0 MB",
    "growth-per-day: 1 GB": "orders.open grows in a day by at least 1.5 GB, above 1.0 GB",
    "expired-share: 20%": "orders.open has past its time to live 25.0%, above 20.0%",
    "overdue-timers: 10": "orders.open has overdue timers: 12, above 10",
    "subtask-skew: 1.5": "orders has in its fullest subtask, of the mean, 1.8, above 1.5",
    "key-group-skew: 9": "orders has in its fullest key group, of the mean, 9.5, above 9",
    "key-entries: 800": "key 42 of orders has entries: 900, above 800",
    "key-size: 30 KB": "key 42 of orders has 40.0 kB, above 30.0 kB",
    "in-flight: 3 KB": "checkpoint 7 has in flight 4.0 kB, above 3.0 kB",
    "age: 5 min": "checkpoint 7 is the newest, and is old by 0:10:00, above 0:05:00",
}


@pytest.mark.parametrize("text", LINES)
def test_what_is_above_its_threshold_is_a_line(text: str) -> None:
    assert [it.text for it in Thresholds.of_text(text, "f").breaches(ANSWER)] == [LINES[text]]


@pytest.mark.parametrize(
    "text",
    [
        "size: 8 MB",
        "states: {orders.other: {size: 1}}",
        "{growth-per-day: 1 GB, states: {orders.open: {growth-per-day: 2 GB}}}",
        "intact-age: 3 h",
        "overdue-timers: 12",
    ],
)
def test_what_is_not_above_is_none(text: str) -> None:
    assert Thresholds.of_text(text, "f").breaches(ANSWER) == ()


def test_a_job_without_any_intact_checkpoint_is_above_each_age() -> None:
    never = replace(ANSWER, intact_id=None, intact_time=None)
    (breach,) = Thresholds.of_text("intact-age: 1000 d", "f").breaches(never)
    assert breach.text == "no checkpoint is intact, above 1000 days, 0:00:00"
    (endless,) = Thresholds.of_text("intact-age: 99999999999 d", "f").breaches(never)
    assert endless.text.endswith("above 999999999 days, 0:00:00")
    (late,) = Thresholds.of_text("intact-age: 1 h", "f").breaches(ANSWER)
    assert late.text.startswith("the newest intact checkpoint is old by 2:")


def test_problems_are_breaches_and_names_obey_no_terminal() -> None:
    bad = replace(ANSWER, problems=("chk-7: \x1b[31mgone",))
    (breach,) = Thresholds.of_text("size: 1 TB", "f").breaches(bad)
    assert breach.word == "problem"
    assert "\x1b" not in breach.text


def test_growth_that_is_not_judged_is_told_if_it_has_a_threshold() -> None:
    early = replace(ANSWER, states=(replace(STATE, steady_growth_per_day=None, missing="2 of 10"),))
    thresholds = Thresholds.of_text("growth-per-day: 1 GB", "f")
    assert thresholds.breaches(early) == ()
    assert unjudged(early, thresholds) == ("orders.open: 2 of 10",)
    assert unjudged(early, Thresholds.of_text("size: 1 TB", "f")) == ()
