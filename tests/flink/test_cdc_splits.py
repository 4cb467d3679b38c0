"""The serializers of MySQL's and Postgres' connectors read what is written here, and the reverse."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from flink_home import FlinkHome
from support.cdc_sources import begun, enumerator, position, snapshot, stream
from support.maven_jars import fetched
from support.nightly import is_night

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.source_splits.cdc_changes import (
    CdcSource,
    released,
    streaming,
    with_table,
    without_table,
)
from savepoint_extensions.connectors.source_splits.cdc_enumerator import CdcEnumerator
from savepoint_extensions.connectors.source_splits.cdc_splits import (
    CdcForm,
    CdcSplit,
    FinishedSplit,
    SnapshotSplit,
    StreamSplit,
    plain_table,
    position_values,
    read_split,
    split_bytes,
)
from savepoint_extensions.connectors.source_splits.cdc_versions import as_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SOURCES = Path(__file__).parent / "cdc_splits"
VERVICA, APACHE = "com.ververica", "org.apache.flink"


@dataclass(frozen=True, slots=True)
class Release:
    """A release of a connector, and the newest versions of its splits and enumerators."""

    name: str
    artifacts: tuple[str, ...]
    group: str
    is_base: bool
    splits: int
    enumerators: int

    @property
    def number(self) -> str:
        return self.name.split("-")[1]


EARLIER = (
    Release("cdc-2.3.0", ("flink-connector-mysql-cdc",), VERVICA, False, 4, 5),
    Release("cdc-2.4.2", ("flink-connector-mysql-cdc",), VERVICA, False, 4, 5),
    Release("cdc-2.4.2", ("flink-connector-postgres-cdc", "flink-cdc-base"), VERVICA, True, 4, 5),
    Release("cdc-3.2.1", ("flink-connector-postgres-cdc", "flink-cdc-base"), APACHE, True, 5, 6),
)
RELEASES = (
    Release("cdc-3.5.0-sql", ("flink-sql-connector-mysql-cdc",), APACHE, False, 4, 5),
    Release("cdc-3.5.0", ("flink-connector-postgres-cdc", "flink-cdc-base"), APACHE, True, 6, 8),
    *(EARLIER if is_night() else ()),
)


@dataclass(frozen=True, slots=True)
class Connector:
    """Serializers of a release, in a process that recodes what it is given."""

    release: Release
    process: subprocess.Popen[str]
    factory: str

    def recoded(self, lines: Sequence[str]) -> list[str]:
        """The answer for each line: version and bytes."""
        return [self._recoded(line) for line in lines]

    def _recoded(self, line: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(line, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        assert answer, f"the serializer fails for {line}"
        return answer.rstrip("\n")

    def split(self, form: CdcForm, split: CdcSplit) -> str:
        return f"split {form.version} {split_bytes(split, form).hex()}"


@pytest.fixture(scope="module", params=RELEASES, ids=lambda known: f"{known.name}{known.is_base}")
def connector(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Connector]:
    release: Release = request.param
    home = FlinkHome.cached("1.20.5")
    home.install()
    folder = tmp_path_factory.mktemp("splits")
    wanted = dict.fromkeys(release.artifacts, release.number)
    jars = fetched(release.name, wanted, group=release.group)
    # Classes of the connector take the place of classes of Debezium.
    first = [str(jars / f"{name}-{release.number}.jar") for name in release.artifacts]
    package = "com.ververica.cdc" if release.group == VERVICA else "org.apache.flink.cdc"
    files = []
    for name in ("Recoded", "BaseSplits" if release.is_base else "MysqlSplits"):
        text = (SOURCES / f"{name}.java").read_text().replace("import CDC.", f"import {package}.")
        files.append(folder / f"{name}.java")
        files[-1].write_text(text)
    class_path = os.pathsep.join([str(folder), *first, f"{jars}/*", *map(str, home.jars)])
    subprocess.run(["javac", "-nowarn", "-d", folder, "-cp", class_path, *files], check=True)
    main = "splits.BaseSplits" if release.is_base else "splits.MysqlSplits"
    pipe = subprocess.PIPE
    with subprocess.Popen(
        ["java", "-cp", class_path, main], stdin=pipe, stdout=pipe, text=True
    ) as process:
        assert process.stdout is not None
        empty_row, _, factory = process.stdout.readline().rstrip("\n").partition(" ")
        assert empty_row == "aced000570"
        yield Connector(release, process, factory)


def forms(release: Release) -> list[CdcForm]:
    """Versions 3 of base are read by no later release: these expect a bool that 3 doesn't have."""
    versions = [
        known for known in range(2, release.splits + 1) if not (release.is_base and known < 4)
    ]
    return [CdcForm(release.is_base, known) for known in versions]


def plain(split: CdcSplit) -> object:
    """A split by its meaning: quotes, the order of names and what its version lacks play no role."""
    if isinstance(split, SnapshotSplit):
        return (
            *(plain_table(split.table), split.split, split.key_type, split.start, split.end),
            split.watermark and position_values(split.watermark),
        )
    return (
        *(split.split, position_values(split.start or ""), position_values(split.end or "")),
        {plain_finished(known) for known in split.finished},
        {plain_table(known.table) for known in split.schemas},
        split.total,
        bool(split.is_suspended),
    )


def is_exact(release: Release, split: CdcSplit) -> bool:
    """Postgres' 2.4.2 takes another total than it has written."""
    is_wrong = release.number == "2.4.2" and release.is_base
    return not is_wrong or isinstance(split, SnapshotSplit) or split.total == len(split.finished)


def plain_finished(known: FinishedSplit) -> object:
    values = tuple(sorted((position_values(known.watermark or "") or {}).items()))
    return plain_table(known.table), known.split, known.start, known.end, known.factory, values


def test_splits_of_all_versions(connector: Connector) -> None:
    release = connector.release
    expected: list[CdcSplit] = []
    lines = []
    for form in forms(release):
        splits: list[CdcSplit] = [
            snapshot("orders", 3, form, None),
            snapshot("orders", 3, form, 17),
            stream(form, 30, {"orders": [10, 20], "payments": [15]}, connector.factory),
            stream(form, 30, {}, connector.factory),
        ]
        if form.has_suspended:
            splits.append(replace(stream(form, 1, {}, ""), is_suspended=True))
        expected += splits
        lines += [connector.split(form, split) for split in splits]
    assert len(lines) >= 4 * len(forms(release)) > 0
    answers = connector.recoded(lines)
    newest = CdcForm(release.is_base, release.splits)
    for split, answer in zip(expected, answers, strict=True):
        version, data = answer.split()
        assert int(version) == release.splits
        written = bytes.fromhex(data)
        read = read_split(written, newest, "split")
        if is_exact(release, split):
            assert plain(read) == plain(split)
        assert split_bytes(read, newest) == written


def test_a_position_of_version_1(connector: Connector) -> None:
    if connector.release.is_base:
        pytest.skip("Postgres never wrote version 1")
    form = CdcForm(False, 1)
    split = stream(form, 0, {}, "")
    split = replace(split, start='{"file": "bin.000007", "pos": "4"}', end=None)
    (answer,) = connector.recoded([connector.split(form, split)])
    read = read_split(bytes.fromhex(answer.split()[1]), CdcForm(False, 4), "split")
    assert isinstance(read, StreamSplit)
    values = position_values(read.start or "") or {}
    assert (values["file"], values["pos"], read.end) == ("bin.000007", "4", None)


def enumerators(release: Release) -> list[CdcEnumerator]:
    known = []
    for form in forms(release):
        first = 4 if release.is_base else 1
        for version in range(first, release.enumerators + 1):
            known += [
                enumerator(version, form, {"orders": [10, 20], "payments": [15]}),
                begun(version, form),
                CdcEnumerator(version, form, None, True),
                replace(begun(version, form), is_streamed=None),
            ]
    return known


def meaning(state: CdcEnumerator) -> object:
    snapshots = state.snapshots
    if snapshots is None:
        return state.is_streamed
    return (
        *(state.is_streamed, snapshots.status, snapshots.is_case_sensitive),
        *([plain_table(known.name) for known in tables] for tables in
          (snapshots.processed, snapshots.waiting)),
        [plain(split) for split in snapshots.remaining],
        sorted((name, plain(split)) for name, split in snapshots.assigned),
        {name: position_values(known or "") for name, known in snapshots.finished},
    )  # fmt: skip


def test_enumerators_of_all_versions(connector: Connector) -> None:
    release = connector.release
    states = enumerators(release)
    answers = connector.recoded(
        [f"enumerator {known.version} {known.to_versioned().data.hex()}" for known in states]
    )
    for state, answer in zip(states, answers, strict=True):
        version, data = answer.split()
        assert int(version) == release.enumerators
        written = Versioned(int(version), bytes.fromhex(data))
        read = CdcEnumerator.of(written, "enumerator", is_base=release.is_base)
        assert meaning(read) == meaning(state)
        assert read.to_versioned() == written
        if state.version == read.version and state.snapshots and read.snapshots:
            divided = state.snapshots.divided
            assert (read.snapshots.divided is None) == (divided is None)
            assert read.snapshots.checkpoints == state.snapshots.checkpoints


def test_changed_sources_are_read(connector: Connector) -> None:
    release = connector.release
    form = CdcForm(release.is_base, release.splits)
    tables = {"orders": [10, 20], "payments": [15]}
    source = CdcSource(
        ((form, stream(form, 30, tables, connector.factory)),),
        enumerator(release.enumerators, form, tables),
    )
    begun_source = CdcSource(
        ((form, snapshot("orders", 3, form, None)),), begun(release.enumerators, form)
    )
    changed = [
        released(source),
        without_table(source, "shop.orders"),
        with_table(source, "shop.refunds"),
        streaming(begun_source, position(40, is_base=release.is_base)),
    ]
    lines = []
    for known in changed:
        assert known.enumerator is not None
        data = known.enumerator.to_versioned().data.hex()
        lines.append(f"enumerator {release.enumerators} {data}")
        lines += [connector.split(form, split) for _, split in filter(None, known.splits)]
    answers = iter(connector.recoded(lines))
    for known in changed:
        assert known.enumerator is not None
        written = Versioned(release.enumerators, bytes.fromhex(next(answers).split()[1]))
        read = CdcEnumerator.of(written, "enumerator", is_base=release.is_base)
        assert meaning(read) == meaning(known.enumerator)
        for _, split in filter(None, known.splits):
            again = read_split(bytes.fromhex(next(answers).split()[1]), form, "split")
            if is_exact(release, split):
                assert plain(again) == plain(split)
    assert next(answers, None) is None


def test_state_of_a_newer_release_is_read_in_the_versions_of_this_one(connector: Connector) -> None:
    release = connector.release
    splits, version = (6, 8) if release.is_base else (4, 5)
    form = CdcForm(release.is_base, splits)
    state = enumerator(version, form, {})
    assert state.snapshots is not None
    bare = replace(state, snapshots=replace(state.snapshots, divided=None, checkpoints=()))
    newer = CdcSource(((form, stream(form, 30, {}, connector.factory)),), bare)
    older = as_version(newer, release.enumerators)
    assert older.enumerator is not None
    (known,) = filter(None, older.splits)
    data = older.enumerator.to_versioned().data.hex()
    answers = connector.recoded(
        [f"enumerator {release.enumerators} {data}", connector.split(*known)]
    )
    written = Versioned(release.enumerators, bytes.fromhex(answers[0].split()[1]))
    read = CdcEnumerator.of(written, "enumerator", is_base=release.is_base)
    assert meaning(read) == meaning(older.enumerator)
    again = read_split(bytes.fromhex(answers[1].split()[1]), known[0], "split")
    assert plain(again) == plain(known[1])
