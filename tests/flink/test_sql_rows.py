"""State of ARRAY_AGG and VARIANT of a real Flink SQL, as readers see it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from flink_home import FlinkHome
from support.sample_rows import SAMPLES

from state_processor import Savepoint

FLINK = "2.2.1"
TEXTS = {0: "a", 1: None, 2: "longer than a slot"}


BACKENDS = ("hashmap", "rocksdb")


@pytest.fixture(scope="module")
def savepoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """By backend; both jobs run in one cluster."""
    folder = tmp_path_factory.mktemp("sql")
    home = FlinkHome.cached(FLINK)
    home.install()
    classes = home.compiled([Path(__file__).parent / "sql_job", SAMPLES / "job"])
    java = home.java(classes, ["-Xmx1g", f"-Djava.io.tmpdir={folder}"])
    command = [*java, "rows.SqlRows", str(folder), *BACKENDS]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    paths = done.stdout.splitlines()[-len(BACKENDS) :]
    return dict(zip(BACKENDS, paths, strict=True))


@pytest.fixture(params=BACKENDS)
def savepoint(request: pytest.FixtureRequest, savepoints: dict[str, str]) -> Savepoint:
    return Savepoint.open(savepoints[request.param].removeprefix("file:"))


def test_lists_of_accumulators_are_lists(savepoint: Savepoint) -> None:
    (table,) = [table.table for table in savepoint.tables() if "accState" in table.states]
    found = [row for batch in savepoint.scan(table).batches() for row in batch.to_pylist()]
    assert {row["key"]["f0"] for row in found} == set(TEXTS)
    for row in found:
        texts, variants, rows = (row["accState"][f"f{index}"] for index in range(3))
        assert texts["list"]
        assert texts["list"] == [TEXTS[row["key"]["f0"]]] * len(variants["list"])
        for variant in (*variants["list"], *(one["f1"] for one in rows["list"])):
            assert json.loads(variant["json"]) == {"a": "x", "b": [1, 2.5, None]}
        assert len(rows["list"]) == len(texts["list"])
        assert {one["f0"] for one in rows["list"]} == {row["key"]["f0"]}
        assert texts["retractList"] == variants["retractList"] == rows["retractList"] == []
