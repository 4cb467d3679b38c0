"""Cases of which a few run with the fast tests, and all of them with all tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from _pytest.mark import ParameterSet

CaseT = TypeVar("CaseT")

_FAST = frozenset(
    (
        *("currency-2.2.1-hashmap-canonical", "objects-1.20.5-rocksdb-native"),
        *("sql-2.2.1-rocksdb-native", "states-1.20.5-hashmap-compressed"),
        *("states-2.2.1-hashmap-native", "states-2.2.1-rocksdb-incremental"),
        *("windows-1.20.5-rocksdb-native", "windows-2.2.1-hashmap-canonical"),
    )
)
"""The samples that stand for others: each job, each backend, each form but a changelog."""


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


def fast_few(cases: Iterable[CaseT]) -> list[ParameterSet]:
    """Cases of samples, of which those that stand for others are fast."""
    return slow_unless(stands_for_others, cases)
