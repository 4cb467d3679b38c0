"""Tests that take minutes and prove one more release, or one more way to fail: they run at night."""

from __future__ import annotations

import os

import pytest

VARIABLE = "SAVEPOINT_NIGHTLY"


def is_night() -> bool:
    """Whether the tests that run at night are wanted."""
    return bool(os.environ.get(VARIABLE))


nightly = pytest.mark.skipif(not is_night(), reason=f"runs at night, or with {VARIABLE}=1")


def examples(count: int) -> int:
    """Number of examples of a property: all of ``count`` at night, a quarter by day."""
    return count if is_night() else min(count, max(count // 4, 12))
