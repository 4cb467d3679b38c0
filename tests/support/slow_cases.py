"""Cases of which a few run with the fast tests, more with all tests, and the rest at night."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest

from support.nightly import nightly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from _pytest.mark import ParameterSet

CaseT = TypeVar("CaseT")

_FAST = frozenset(
    (
        *("currency-2.2.1-hashmap-canonical", "objects-1.20.5-rocksdb-native"),
        *("sql-2.2.1-rocksdb-native", "states-1.20.5-hashmap-compressed"),
        *("currency-2.2.1-hashmap-native", "states-2.2.1-rocksdb-incremental"),
        *("windows-1.20.5-rocksdb-native", "windows-2.2.1-hashmap-canonical"),
    )
)
"""The samples that stand for others: each job, each backend, each form but a changelog."""

_BY_DAY = ("-changelog", "-filemerging", "-heaptimers", "states-2.2.1-hashmap-native")
"""The ends of names of samples whose form no other sample has, and the slowest one of a form that is fast."""


def slow_unless(is_fast: Callable[[CaseT], bool], cases: Iterable[CaseT]) -> list[ParameterSet]:
    """Cases for ``parametrize``; those that are not fast run with all tests only."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if is_fast(case) else pytest.mark.slow,
        )
        for case in cases
    ]


def stands_for_others(case: object) -> bool:
    """Whether a sample, or the first thing of a case, is one of those that stand for others."""
    first = case[0] if isinstance(case, tuple) else case
    return str(first).partition("/")[0] in _FAST


def nightly_unless(
    is_by_day: Callable[[CaseT], bool], cases: Iterable[CaseT]
) -> list[ParameterSet]:
    """Cases for ``parametrize``, some of which run at night only."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if is_by_day(case) else (pytest.mark.slow, nightly),
        )
        for case in cases
    ]


def is_by_day(case: object) -> bool:
    """Whether a sample stands for others, or has a form that no other has."""
    first = case[0] if isinstance(case, tuple) else case
    return stands_for_others(case) or str(first).partition("/")[0].endswith(_BY_DAY)


def few_by_day(cases: Iterable[CaseT]) -> list[ParameterSet]:
    """Cases of samples, of which those that stand for others and rare forms don't wait for the night."""
    return nightly_unless(is_by_day, cases)


def fast_few(cases: Iterable[CaseT]) -> list[ParameterSet]:
    """Cases of samples: those that stand for others are fast, rare forms slow, the rest nightly."""
    cases = list(cases)
    by_day = [case for case in cases if is_by_day(case)]
    by_night = [case for case in cases if not is_by_day(case)]
    return [*slow_unless(stands_for_others, by_day), *few_by_day(by_night)]
