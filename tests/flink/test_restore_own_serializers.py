"""Objects and lists that Kryo wrote, restored by jobs of the same release that give them to Flink's own serializers."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from support.changed_jobs import ChangedJobs, Version
from support.nightly import nightly

from savepoint_formats.errors import MigrationError
from state_processor import Savepoint, kryo_class

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

ADDRESS = "app.Job$Address"
TEXTS = {
    "public int code = 4051;": 'public int code = 4051; public String toString() { return city + " " + code; }',
    "public Address address = new Address();": (
        "public Address address = new Address(); public String toString() { return amount + note + address; }"
    ),
}
OLD = Version(
    "kryo",
    # Kryo of Flink 1 writes such a list, and can't read it.
    {
        **TEXTS,
        'words.update(new ArrayList<>(List.of("a", "b")));': 'words.update(List.of("a", "b"));',
    },
)
GENERIC = "new GenericTypeInfo<>((Class<List<String>>) (Class<?>) List.class);"
LISTS = {
    "1.20.5": "Types.LIST(Types.STRING);",
    "2.2.1": "TypeInformation.of(new org.apache.flink.api.common.typeinfo.TypeHint<List<String>>() {});",
}
POJO = {"pipeline.serialization-config": f"[{ADDRESS}: {{type: pojo}}]"}
CLASSES = [kryo_class(ADDRESS, {"city": "java.lang.String", "code": "int"})]


@pytest.fixture(scope="module", params=["1.20.5", pytest.param("2.2.1", marks=nightly)])
def jobs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ChangedJobs]:
    folder = tmp_path_factory.mktemp("own")
    with closing(ChangedJobs(request.param, folder)) as made:
        yield made


def test_a_job_with_pojos_and_lists_finds_what_kryo_wrote(
    spark: SparkSession, jobs: ChangedJobs, tmp_path: Path
) -> None:
    new = Version("pojo", {**TEXTS, GENERIC: LISTS[jobs.release]}, POJO)
    old = jobs.run(OLD)
    assert not old.error, old.error
    assert jobs.run(new, old.savepoint).error
    uids = ["orders", "audit"]
    with pytest.raises(MigrationError, match="is not described"):
        Savepoint.load(spark, old.savepoint, uids=uids).migrate(to_pojo=[ADDRESS])
    savepoint = Savepoint.load(spark, old.savepoint, uids=uids, kryo_classes=CLASSES)
    changed = savepoint.migrate(to_pojo=[ADDRESS], collections=True)
    changed.write(str(tmp_path / "own"))
    found = jobs.run(new, str(tmp_path / "own"))
    assert not found.error, found.error
    expected = {"order": "7newBasel 4051", "seen": "Basel 4051", "words": "[a, b]", "count": "1"}
    assert {state: set(found.kept[state]) for state in expected} == {
        state: {text} for state, text in expected.items()
    }
