"""Blocks of RocksDB in each compression that Flink's own RocksDB writes: read, found, erased, verified."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from flink_home import FlinkHome
from samples import INCREMENTAL
from samples import Sample as Written
from support.commands import result_of
from support.erasures import erased
from support.java_jobs import JOBS
from support.nightly import VARIABLE as NIGHTLY
from support.sample_rows import SAMPLES, Sample, tables_of

from savepoint_extensions.privacy.hidden_contents import table_versions
from savepoint_formats.metadata.references import stream_references
from savepoint_formats.state_files.rocksdb.sst import Sst
from savepoint_formats.state_files.rocksdb.sst_blocks import Compression
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from savepoint_formats.locations.state_file import StateFile

COMPRESSIONS = {
    "ZLIB_COMPRESSION": Compression.ZLIB,
    "BZLIB2_COMPRESSION": Compression.BZIP2,
    "LZ4_COMPRESSION": Compression.LZ4,
    "LZ4HC_COMPRESSION": Compression.LZ4_HC,
    "ZSTD_COMPRESSION": Compression.ZSTANDARD,
}
RELEASE = "2.2.1"
SAMPLE = Sample(f"windows-{RELEASE}-rocksdb-native")
VALUE = "customer-005"

# The RocksDB of the unit tests writes all of these but zlib.
WRITTEN = list(COMPRESSIONS) if os.environ.get(NIGHTLY) else ["ZLIB_COMPRESSION"]

of_each = pytest.mark.parametrize("compression", WRITTEN)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Compression -> a checkpoint of the job of the sample."""
    folder = tmp_path_factory.mktemp("compressed")
    home = FlinkHome.cached(RELEASE)
    home.install()
    java = home.java(home.compiled([SAMPLES / "job", JOBS / "compressed_job"]), ["-Xmx1g"])
    config = Written("windows", RELEASE, "rocksdb", INCREMENTAL).config(folder)
    java += ["shop.CompressedTables", "windows", str(SAMPLES / "input"), str(folder)]
    java += [",".join(WRITTEN), *(f"{key}={value}" for key, value in config.items())]
    done = subprocess.run(java, check=True, stdout=subprocess.PIPE, text=True)
    return dict(zip(WRITTEN, done.stdout.split(), strict=True))


def opened(path: str) -> Savepoint:
    return Savepoint.open(path, uids=SAMPLE.uids)


def tables(savepoint: Savepoint) -> Iterator[StateFile]:
    for operator in savepoint.operators():
        for reference in stream_references(operator.record):
            if reference.role.endswith(".sst"):
                yield operator.directory.file(reference.stream)


@of_each
def test_rows_are_those_of_the_sample(checkpoints: dict[str, str], compression: str) -> None:
    path = checkpoints[compression]
    kinds = Counter[int]()
    for file in tables(opened(path)):
        sst = Sst.open(file, file.length())
        index = sst.read_index()
        kinds.update(sst.read_blocks(index, slice(None)).compressions().tolist())
    # RocksDB stores a block as it is if compression saves less than an eighth of it.
    assert kinds[COMPRESSIONS[compression]] >= 10
    assert kinds.keys() <= {COMPRESSIONS[compression], Compression.NONE}
    rows, expected = tables_of(path, SAMPLE.uids), tables_of(SAMPLE.path, SAMPLE.uids)
    # The source names the files of a folder.
    own = {table for table in expected if table.startswith("transactions_source.")}
    assert {name: rows[name] for name in expected.keys() - own} == {
        name: expected[name] for name in expected.keys() - own
    }


@of_each
def test_each_block_is_verified(checkpoints: dict[str, str], compression: str) -> None:
    path = checkpoints[compression]
    whole = result_of("verify", path)
    assert (whole.exit_code, "Faults: none" in whole.output) == (0, True), whole.output
    file = max(tables(opened(path)), key=lambda table: table.length())
    assert file.local_path
    table = Path(file.local_path)
    before = table.read_bytes()
    table.write_bytes(before[:30] + bytes([before[30] ^ 1]) + before[31:])
    try:
        damaged = result_of("verify", path)
    finally:
        table.write_bytes(before)
    assert damaged.exit_code == 1, damaged.output
    assert "checksum" in damaged.output


@of_each
def test_what_only_old_versions_have_is_erased(
    spark: SparkSession, checkpoints: dict[str, str], compression: str, tmp_path: Path
) -> None:
    path = checkpoints[compression]
    contents = (data for file in tables(opened(path)) for _, data in table_versions(file))
    versions = sum(data.count(VALUE.encode()) for data in contents)
    assert versions
    code, told, output = erased(path, tmp_path / "out", VALUE)
    assert (code, told["is_erased"], told["after"]) == (0, True, []), output
    in_tables = [place for place in told["before"] if "/shared/" in place["file"]]
    assert sum(place["count"] for place in in_tables) >= versions
