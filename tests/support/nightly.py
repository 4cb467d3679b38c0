"""Tests that take minutes and prove one more release, or one more way to fail: they run at night."""

from __future__ import annotations

import os

import pytest

VARIABLE = "SAVEPOINT_NIGHTLY"

nightly = pytest.mark.skipif(
    not os.environ.get(VARIABLE), reason=f"runs at night, or with {VARIABLE}=1"
)
