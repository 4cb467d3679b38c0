"""Enums whose constants are renamed and dropped, restored by a job that has the new ones."""

from __future__ import annotations

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

GRADE = "app.Job$Grade"
RANKED = """\
    public static class Ranked {
        public String name;
        public Grade grade;

        public static Ranked of(int number) {
            Ranked made = new Ranked();
            made.name = key(number);
            made.grade = number % 2 == 0 ? Grade.MIDDLE : Grade.HIGH;
            return made;
        }

        @Override
        public int hashCode() {
            return name.hashCode();
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Ranked
                    && ((Ranked) other).name.equals(name)
                    && ((Ranked) other).grade == grade;
        }
    }

    public static class Place {"""
FIELDS = """\
        private transient ValueState<Grade> own;
        private transient ListState<Grade> several;
        private transient MapState<Grade, Address> places;
        private transient ValueState<Map<String, Grade>> table;
        private transient ValueState<Tuple2<Grade, Integer>> pair;
        private transient ValueState<Integer> audits;"""
OPENED = """\
            TypeInformation<Grade> grade = Types.ENUM(Grade.class);
            own = getRuntimeContext().getState(new ValueStateDescriptor<>("own", grade));
            several = getRuntimeContext().getListState(new ListStateDescriptor<>("several", grade));
            places = getRuntimeContext().getMapState(new MapStateDescriptor<>("ranks", grade, TypeInformation.of(Address.class)));
            table = getRuntimeContext().getState(new ValueStateDescriptor<>("table", Types.MAP(Types.STRING, grade)));
            pair = getRuntimeContext().getState(new ValueStateDescriptor<>("grades", Types.TUPLE(grade, Types.INT)));
            audits = getRuntime"""
FILLED = """\
            Grade grade = context.getCurrentKey().grade;
            Seen.kept("own", own.value());
            for (Grade element : several.get()) {
                Seen.kept("several", element);
            }
            for (Map.Entry<Grade, Address> entry : places.entries()) {
                Seen.kept("ranks", entry.getKey() + ": " + entry.getValue());
            }
            Seen.kept("table", table.value());
            Seen.kept("grades", pair.value());
            own.update(grade);
            several.update(List.of(grade, Grade.HIGH));
            places.put(grade, new Address());
            table.update(new java.util.HashMap<>(Map.of("a", grade)));
            pair.update(Tuple2.of(grade, 1));
            context.timerService().registerProcessingTimeTimer(Long.MAX_VALUE / 2);
            audits.update(1);"""
OLD_LINES = {
    "    public static class Place {": RANKED,
    "        private transient ValueState<Integer> audits;": FIELDS,
    "            audits = getRuntime": OPENED,
    "            audits.update(1);": FILLED,
    "public int code = 4051;": "public int code = 4051; public Grade rank = Grade.HIGH;"
    ' public String toString() { return city + " " + rank; }',
    "numbers.keyBy(Job::key, KEY).process(new Audit())": (
        "numbers.keyBy(Ranked::of, TypeInformation.of(Ranked.class)).process(new Audit())"
    ),
    "class Audit extends KeyedProcessFunction<String,": "class Audit extends KeyedProcessFunction<Ranked,",
    'public String note = "new";': 'public String note = "new"; public String toString() { return "" + grade; }',
}
# A POJO that is a key loses its fields on the way to RocksDB's comparison.
REFUSALS = (
    "Could not create a restore serializer for enum class",
    "field serializer snapshots should be present",
)
OLD = Version("old", OLD_LINES)
NEW = Version("new", {**OLD_LINES, "        LOW,\n": "", "MIDDLE": "MEDIUM"})
TURNS = ("MEDIUM", "HIGH", "MEDIUM", "HIGH", "MEDIUM")
KEPT = {
    "order": ["MEDIUM"] * 5,
    "seen": ["Basel HIGH"],
    "own": list(TURNS),
    "several": [each for turn in TURNS for each in (turn, "HIGH")],
    "ranks": [f"{turn}: Basel HIGH" for turn in TURNS],
    "table": [f"{{a={turn}}}" for turn in TURNS],
    "grades": [f"({turn},1)" for turn in TURNS],
}


@pytest.fixture(scope="module", params=[pytest.param("1.20.5", marks=nightly), "2.2.1"])
def jobs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ChangedJobs]:
    folder = tmp_path_factory.mktemp("constants")
    with closing(ChangedJobs(request.param, folder)) as made:
        yield made


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_job_finds_all_values_under_the_new_constants(
    spark: SparkSession, jobs: ChangedJobs, tmp_path: Path, backend: str
) -> None:
    old = jobs.run(OLD.on(backend), form="native")
    assert not old.error
    refused = jobs.run(NEW.on(backend), old.savepoint).error
    assert any(message in refused for message in REFUSALS)

    savepoint = Savepoint.load(spark, old.savepoint, uids=["orders", "audit"])
    changed = savepoint.rename_constant(GRADE, "MIDDLE", "MEDIUM").drop_constant(GRADE, "LOW")
    changed.write(str(tmp_path / "changed"))
    new = jobs.run(NEW.on(backend), str(tmp_path / "changed"))
    assert not new.error
    assert {state: new.kept[state] for state in KEPT} == KEPT
    assert new.kept["audits"] == ["1"] * 5
