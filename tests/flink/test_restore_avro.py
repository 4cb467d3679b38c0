"""Records of Avro with another schema, restored by the job that declares it."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from support.changed_jobs import ChangedJobs, Version
from support.nightly import nightly

from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

UIDS = ["orders", "audit"]
OLD = Version("avro")
NEW = Version(
    "resolved",
    {
        "\"{'name': 'page', 'type': 'string'},\"": (
            "\"{'name': 'site', 'type': 'string', 'aliases': ['page']},\""
            " + \"{'name': 'from', 'type': ['null', 'string'], 'default': null},\""
        ),
        "'seconds', 'type': 'int'": "'seconds', 'type': 'long'",
        "\"{'name': 'caller', 'type': 'string'},\"": (
            "\"{'name': 'line', 'type': 'int', 'default': 9}, {'name': 'caller', 'type': 'string'},\""
        ),
    },
)
VISIT = {
    "type": "record",
    "name": "Visit",
    "namespace": "shop",
    "fields": [
        {"name": "site", "type": "string", "aliases": ["page"]},
        {"name": "from", "type": ["null", "string"], "default": None},
        {"name": "seconds", "type": "long"},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
    ],
}
CALL = {
    "type": "record",
    "name": "Call",
    "namespace": "app.Job$",
    "fields": [
        {"name": "line", "type": "int", "default": 9},
        {"name": "caller", "type": "string"},
        {"name": "length", "type": "int"},
    ],
}


@pytest.fixture(scope="module", params=["2.2.1", pytest.param("1.20.5", marks=nightly)])
def jobs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ChangedJobs]:
    folder = tmp_path_factory.mktemp("avro")
    with closing(ChangedJobs(request.param, folder)) as made:
        yield made


def test_a_job_with_another_schema_reads_each_record(
    spark: SparkSession, jobs: ChangedJobs, tmp_path: Path
) -> None:
    old = jobs.run(OLD.on("rocksdb"))
    assert not old.error, old.error
    assert jobs.run(NEW.on("rocksdb"), old.savepoint).error
    savepoint = Savepoint.load(spark, old.savepoint, uids=UIDS)
    changed = savepoint.change_avro("orders", "visit", json.dumps(VISIT))
    changed = changed.change_avro("orders", "call", json.dumps(CALL))
    changed.write(str(tmp_path / "new"))
    results = [
        Savepoint.open(it, uids=UIDS).verify().result for it in (old.savepoint, tmp_path / "new")
    ]
    assert results[0] == results[1]
    new = jobs.run(NEW.on("rocksdb"), str(tmp_path / "new"))
    assert not new.error, new.error
    visits, calls = (
        {json.dumps(json.loads(text), sort_keys=True) for text in new.kept[state]}
        for state in ("visit", "call")
    )
    expected = {"site": "start", "from": None, "seconds": 3, "kind": "A"}
    assert visits == {json.dumps(expected, sort_keys=True)}
    call = {"line": 9, "caller": "me", "length": 3}
    assert calls == {json.dumps(call, sort_keys=True)}
    assert set(new.kept["count"]) == {"1"}
