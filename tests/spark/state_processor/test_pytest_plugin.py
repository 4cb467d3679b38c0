"""The fixtures of pytest, as a project that uses them runs them."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

SAMPLE = Path(__file__).parents[3] / "sample_savepoints" / "currency-2.2.1-rocksdb-native"
TESTS = f"""
from typing import NamedTuple

import pytest

from state_processor import ListStateDescriptor, MapStateDescriptor, Types, ValueStateDescriptor

SAMPLE = {str(SAMPLE)!r}


class Backwards(NamedTuple):
    y: int
    x: int


def test_state_of_rows(make_savepoint, savepoint, assert_state_equal):
    rows = [
        {{"customer": "a", "total": 1, "memos": ["x"], "by_day": [("mon", 2)]}},
        {{"customer": "b", "total": 2, "memos": [], "by_day": []}},
    ]
    states = [
        ValueStateDescriptor("total", Types.INT()),
        ListStateDescriptor("memos", Types.STRING()),
        MapStateDescriptor("by_day", Types.STRING(), Types.LONG()),
    ]
    path = make_savepoint("orders", rows, key="customer", states=states)
    opened = savepoint(path, uids=["orders"])
    totals = [{{"key": "b", "total": 2}}, {{"key": "a", "total": 1}}]
    assert_state_equal(opened, "orders.keyed_state", totals)
    again = make_savepoint("orders", rows, key="customer", states=states)
    assert_state_equal(path, again, uids=["orders"])


def test_structs_go_by_names(make_savepoint, assert_state_equal):
    point = Types.POJO("a.Point", {{"x": Types.INT(), "y": Types.INT()}})
    pair = Types.TUPLE([Types.LONG(), Types.STRING()])
    rows = [
        {{"key": {{"f1": "a", "f0": 1}}, "point": {{"y": 2, "x": 1}}}},
        {{"key": (2, "b"), "point": Backwards(4, 3)}},
    ]
    states = [ValueStateDescriptor("point", point)]
    path = make_savepoint("points", rows, key_type=pair, states=states)
    expected = [
        {{"key": {{"f0": 1, "f1": "a"}}, "point": {{"x": 1, "y": 2}}}},
        {{"key": {{"f0": 2, "f1": "b"}}, "point": {{"x": 3, "y": 4}}}},
    ]
    assert_state_equal(path, "points.keyed_state", expected, uids=["points"])
    with pytest.raises(ValueError, match="the test gave .* for key 1 .*no field 'z'; missing: 'y'"):
        make_savepoint("points", [{{"key": 1, "point": {{"x": 1, "z": 2}}}}], states=states)


def test_other_rows(assert_state_equal):
    rows = [{{"key": "EUR", "total": 1.0}}]
    assert_state_equal(SAMPLE, "summarize.keyed_state", rows, uids=["summarize"])


def test_another_savepoint(make_savepoint, assert_state_equal):
    states = [ValueStateDescriptor("total", Types.LONG())]
    paths = [
        make_savepoint("orders", [{{"key": 1, "total": total}}], states=states) for total in (1, 2)
    ]
    assert_state_equal(*paths, uids=["orders"])
"""
LIGHT = """
import sys


def test_nothing_heavy_is_loaded():
    assert "state_processor.pytest_plugin" in sys.modules
    heavy = {"pyspark", "pyarrow", "duckdb", "llvmlite", "numpy", "click"}
    assert not heavy & set(sys.modules)
"""


def run_tests(folder: Path, tests: str) -> str:
    """The output of pytest in a project of its own."""
    (folder / "test_jobs.py").write_text(tests, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    plugin = ["-p", "state_processor.pytest_plugin", "-p", "no:cacheprovider"]
    call = [sys.executable, "-m", "pytest", *plugin, "-q", "-rf", "--rootdir", str(folder)]
    # An installed package brings the plugin by itself, under another name.
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(call, cwd=folder, env=alone, check=False, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_state_is_made_and_compared(tmp_path: Path) -> None:
    output = run_tests(tmp_path, TESTS)
    assert "2 failed, 2 passed" in output, output
    assert "summarize.keyed_state: 1 rows are missing (-), " in output
    assert "- {'key': 'EUR', 'total': 1.0}" in output
    assert "the states differ:" in output


def test_the_plugin_costs_nothing_until_it_is_used(tmp_path: Path) -> None:
    assert "1 passed" in run_tests(tmp_path, LIGHT)


def test_the_package_names_its_plugin() -> None:
    project = Path(__file__).parents[3] / "pyproject.toml"
    points = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["entry-points"][
        "pytest11"
    ]
    assert import_module(points["savepoint"]).__doc__
