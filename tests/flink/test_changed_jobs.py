"""What the doctor says of new versions of a job is what a real Flink does with them."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest
from support.changed_jobs import ChangedJobs, Run, Version
from support.job_versions import REFUSED, RESTORED, TOKENS, WITH_SERIALIZER, WITH_TTL
from support.slow_cases import nightly_unless

from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession
    from support.job_versions import Case

    from state_processor import Compatibility

# New versions lack some operators.
pytestmark = pytest.mark.filterwarnings(
    "ignore::savepoint_formats.savepoint_warnings.UnknownUidWarning"
)

OLD = Version("old")
FLINK_1, FLINK_2 = "1.20.5", "2.2.1"
UIDS = ["nothing", "keys", "orders", "audit"]


class Jobs:
    """A cluster per release, and a savepoint of the old job in each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.open = ExitStack()
        self.clusters: dict[str, ChangedJobs] = {}
        self.olds: dict[str, Run] = {}

    def of(self, release: str) -> ChangedJobs:
        if release not in self.clusters:
            folder = self.folder / release
            folder.mkdir()
            self.clusters[release] = self.open.enter_context(closing(ChangedJobs(release, folder)))
        return self.clusters[release]

    def old(self, release: str) -> Run:
        if release not in self.olds:
            self.olds[release] = self.of(release).run(OLD)
            assert not self.olds[release].error
        return self.olds[release]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jobs]:
    made = Jobs(tmp_path_factory.mktemp("changed-jobs"))
    with made.open:
        yield made


def judged(old: str, new: str, folder: Path, backend: str = "") -> Compatibility:
    """What the doctor says, of the new job's savepoint and of its schema alike."""
    savepoint = Savepoint.open(old, uids=UIDS)
    found = savepoint.compatibility(job=new, backend=backend)
    schema = folder / "job.json"
    schema.write_text(json.dumps(Savepoint.open(new, uids=UIDS).job_schema().as_json()))
    of_schema = savepoint.compatibility(job=schema, backend=backend)
    assert of_schema.operators == found.operators
    return found


def rules_of(found: Compatibility) -> set[str]:
    conditions = {"max-parallelism", "uid"}
    return {finding.rule for _, finding in found.placed()} - conditions


def named(cases: tuple[Case, ...]) -> Callable[..., None]:
    """A test per change; by day the first one of each rule."""
    firsts = {rule: version for version, rule in reversed(cases)}
    of_rules = nightly_unless(lambda case: firsts[case[1]] is case[0], cases)
    return pytest.mark.parametrize(
        ("version", "rule"), of_rules, ids=[version.name for version, _ in cases]
    )


@named(RESTORED)
def test_what_the_doctor_lets_pass_is_restored(
    jobs: Jobs, tmp_path: Path, version: Version, rule: str
) -> None:
    cluster, old = jobs.of(FLINK_2), jobs.old(FLINK_2)
    new, run = cluster.run(version), cluster.run(version, old.savepoint)
    assert new.error == run.error == ""
    found = judged(old.savepoint, new.savepoint, tmp_path)
    assert found.verdict == "restorable"
    assert rule in rules_of(found) or (rules_of(found), rule) == (set(), "")
    lost = {"count"} if rule in ("state-renamed", "state-not-used") else set()
    assert {state for state in RESTORED_STATES if len(run.kept.get(state, ())) < 5} == lost


RESTORED_STATES = (
    *("order", "token", "visit", "call", "plain", "words", "row", "pair"),
    *("count", "notes", "amounts", "audits"),
)


@named(REFUSED)
def test_what_the_doctor_stops_is_refused(
    jobs: Jobs, tmp_path: Path, version: Version, rule: str
) -> None:
    cluster, old = jobs.of(FLINK_2), jobs.old(FLINK_2)
    new, run = cluster.run(version), cluster.run(version, old.savepoint)
    assert new.error == ""
    assert run.error
    found = judged(old.savepoint, new.savepoint, tmp_path)
    assert found.verdict in ("not restorable", "restorable after migration")
    assert rule in rules_of(found)


@pytest.mark.parametrize("version", WITH_TTL, ids=lambda version: version.name)
@pytest.mark.parametrize("release", [FLINK_1, FLINK_2])
def test_a_time_to_live_is_set_by_newer_releases(
    jobs: Jobs, tmp_path: Path, version: Version, release: str
) -> None:
    cluster, old = jobs.of(release), jobs.old(release)
    with_ttl, run = cluster.run(version), cluster.run(version, old.savepoint)
    back = cluster.run(OLD, with_ttl.savepoint)
    assert [bool(run.error), bool(back.error)] == [release == FLINK_1] * 2
    pairs = (old.savepoint, with_ttl.savepoint), (with_ttl.savepoint, old.savepoint)
    for before, after in pairs:
        found = judged(before, after, tmp_path)
        assert found.is_restorable is (release == FLINK_2)
        assert "ttl-migrated" if found.is_restorable else "ttl-changed" in rules_of(found)


@named((*RESTORED[1:5], *REFUSED[:4]))
def test_flink_1_decides_alike(jobs: Jobs, tmp_path: Path, version: Version, rule: str) -> None:
    cluster, old = jobs.of(FLINK_1), jobs.old(FLINK_1)
    new, run = cluster.run(version), cluster.run(version, old.savepoint)
    found = judged(old.savepoint, new.savepoint, tmp_path)
    assert found.is_restorable is (run.error == "")
    assert rule in rules_of(found)


def test_records_without_a_class_get_the_values_of_other_fields(jobs: Jobs, tmp_path: Path) -> None:
    page = "{'name': 'page', 'type': 'string'}"
    first = "{'name': 'first', 'type': 'string', 'default': 'x'}"
    version = Version("avro field for another", {page: first})
    cluster, old = jobs.of(FLINK_2), jobs.old(FLINK_2)
    new, run = cluster.run(version), cluster.run(version, old.savepoint)
    again = cluster.run(version, run.savepoint)
    # The default of the new field is x; it has the page.
    assert '"first": "start"' in again.kept["visit"][0]
    found = judged(old.savepoint, new.savepoint, tmp_path)
    assert found.verdict == "silent corruption"
    assert "avro-generic-shifted" in rules_of(found)


@pytest.mark.parametrize(("release", "backend"), [(FLINK_1, "hashmap"), (FLINK_2, "rocksdb")])
def test_collections_that_kryo_writes_and_cannot_read(
    jobs: Jobs, spark: SparkSession, tmp_path: Path, release: str, backend: str
) -> None:
    copied = 'new ArrayList<>(List.of("a", "b"))'
    version = Version("unmodifiable", {copied: f"Collections.unmodifiableList({copied})"}).on(
        backend
    )
    cluster = jobs.of(release)
    old = cluster.run(version)
    assert old.error == ""
    assert "UnsupportedOperationException" in cluster.run(version, old.savepoint).error
    found = judged(old.savepoint, old.savepoint, tmp_path, backend)
    assert found.verdict == "not restorable"
    assert "kryo-unreadable" in rules_of(found)
    (where,) = (one.where for _, one in found.placed() if one.rule == "kryo-unreadable")
    out = str(tmp_path / "renamed")
    Savepoint.load(spark, old.savepoint, uids=UIDS).rename_class(*where.split(" → ")).write(out)
    assert judged(out, old.savepoint, tmp_path, backend).verdict == "restorable"
    assert cluster.run(version, out).kept["words"] == ["[a, b]"] * 5


def test_a_serializer_of_kryo_reads_what_another_one_wrote(jobs: Jobs, tmp_path: Path) -> None:
    cluster = jobs.of(FLINK_2)
    versions = {"none": Version("kryo none", WITH_SERIALIZER)} | {
        kind: Version(
            f"kryo {kind}",
            WITH_SERIALIZER,
            config={"pipeline.serialization-config": TOKENS.format(kind)},
        )
        for kind in ("registered", "default")
    }
    olds = {kind: cluster.run(version).savepoint for kind, version in versions.items()}

    def found(old: str, new: str, backend: str) -> tuple[set[str], str]:
        """The tokens that Flink finds, or none if it fails; and the doctor's verdict."""
        run = cluster.run(versions[new].on(backend), olds[old])
        said = judged(olds[old], olds[new], tmp_path, backend)
        assert "kryo-serializer" in rules_of(said) or said.verdict == "restorable"
        return set(run.kept.get("token", ())), said.verdict

    # The serializer of the class finds its number in the first bytes of the text.
    assert found("registered", "none", "rocksdb") == ({"token 55"}, "silent corruption")
    assert found("none", "default", "rocksdb") == (set(), "silent corruption")
    assert found("registered", "none", "hashmap") == ({"token 1"}, "restorable")
    assert found("default", "registered", "rocksdb") == ({"token 1"}, "restorable")
    assert found("default", "none", "rocksdb") == ({"token 1"}, "restorable")


def test_a_new_field_has_the_value_of_its_initializer(jobs: Jobs) -> None:
    version = next(version for version, _ in RESTORED if version.name == "field added")
    run = jobs.of(FLINK_2).run(version, jobs.old(FLINK_2).savepoint)
    assert set(run.kept["order"]) == {"7 5"}


def test_rocksdb_does_not_migrate_keys_of_maps(jobs: Jobs, tmp_path: Path) -> None:
    version = next(version for version, _ in RESTORED if version.name == "key of a map evolves")
    cluster, old = jobs.of(FLINK_2), jobs.old(FLINK_2)
    new = cluster.run(version.on("rocksdb"))
    assert cluster.run(version.on("rocksdb"), old.savepoint).error
    found = judged(old.savepoint, new.savepoint, tmp_path, "rocksdb")
    assert found.verdict == "not restorable"
    assert "map-key-evolved" in rules_of(found)


def test_files_of_one_backend_are_not_restored_by_another(jobs: Jobs, tmp_path: Path) -> None:
    cluster = jobs.of(FLINK_2)
    old = cluster.run(OLD.on("hashmap"), form="native")
    new = cluster.run(OLD.on("rocksdb"), form="native")
    assert cluster.run(OLD.on("rocksdb"), old.savepoint).error
    found = judged(old.savepoint, new.savepoint, tmp_path)
    assert (found.verdict, found.backend) == ("restorable after migration", "rocksdb")
    assert "native-of-hashmap" in rules_of(found)


def test_a_job_that_asks_for_no_max_parallelism_takes_that_of_the_savepoint(
    jobs: Jobs, tmp_path: Path
) -> None:
    cluster = jobs.of(FLINK_2)
    old = cluster.run(Version("few", config={"pipeline.max-parallelism": "64"}))
    assert cluster.run(OLD, old.savepoint).error == ""
    found = judged(old.savepoint, jobs.old(FLINK_2).savepoint, tmp_path)
    assert found.verdict == "restorable"
    assert "default-max-parallelism" in rules_of(found)


def test_the_advice_about_a_uid_helps(jobs: Jobs, tmp_path: Path) -> None:
    version = next(version for version, _ in REFUSED if version.name == "uid changed")
    cluster, old = jobs.of(FLINK_2), jobs.old(FLINK_2)
    new, out = cluster.run(version), str(tmp_path / "renamed")
    Savepoint.open(old.savepoint).rename_operator("audit", "auditor").write(out)
    assert judged(out, new.savepoint, tmp_path).verdict == "restorable"
    assert len(cluster.run(version, out).kept["audits"]) == 5
