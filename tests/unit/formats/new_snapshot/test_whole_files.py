"""Files that appear only when they are complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from support.striking_proxy import StrikingProxy

from savepoint_database.files.exported_table import write_table_file
from savepoint_database.files.table_format import TableFormat
from savepoint_formats.errors import SavepointError
from savepoint_formats.new_snapshot.signs_of_life import locked
from savepoint_formats.new_snapshot.whole_files import whole_file

if TYPE_CHECKING:
    from pathlib import Path

    from support.s3_server import S3Server

ROWS = pa.record_batch({"n": [1]})


def test_files_of_dead_processes_are_removed_and_those_of_others_stay(tmp_path: Path) -> None:
    dead, living, foreign = (f".rows.csv-{digit * 32}" for digit in "abx")
    for name in (dead, foreign):
        (tmp_path / name).write_bytes(b"half")
    with (
        locked(str(tmp_path / living)),
        whole_file(str(tmp_path / "rows.csv"), is_overwritten=False) as file,
    ):
        file.write(b"rows")
    assert {path.name for path in tmp_path.iterdir()} == {"rows.csv", living, foreign}
    assert (tmp_path / "rows.csv").read_bytes() == b"rows"


def test_files_of_the_dead_on_a_store_are_removed_after_a_day(s3_server: S3Server) -> None:
    bucket, dead, recent = (
        s3_server.bucket("asides"),
        ".rows.csv-" + "a" * 32,
        ".rows.csv-" + "b" * 32,
    )
    for name in (dead, recent):
        s3_server.put(bucket, f"out/{name}", b"half")
    s3_server.age(bucket, f"out/{dead}", 25 * 3600)
    s3_server.age(bucket, f"out/{recent}", 23 * 3600)
    with whole_file(s3_server.uri(bucket, "out/rows.csv"), is_overwritten=False) as file:
        file.write(b"rows")
    assert s3_server.keys(bucket) == {f"out/{recent}", "out/rows.csv"}


@pytest.mark.usefixtures("slow")
def test_a_store_that_refuses_is_named_unless_the_file_is_complete(s3_server: S3Server) -> None:
    uri = s3_server.uri(s3_server.bucket("refused"), "out/rows.csv")
    with StrikingProxy.running(s3_server.address) as proxy:
        through = uri.replace(proxy.store, proxy.address)

        def written(denied: int = -1) -> int:
            """Writes a file, with one request refused; returns how many requests there were."""
            proxy.arm(denied, "denied")
            size = write_table_file(
                through, TableFormat.CSV, ROWS.schema, [ROWS], is_overwritten=True
            )
            assert size == len(b'"n"\n1\n')
            return len(proxy.requests)

        written()
        number = written()
        completed = proxy.requests.index("PUT /refused/out/rows.csv")
        for denied in range(number):
            if denied > completed:
                written(denied)
            else:
                with pytest.raises(SavepointError, match=r"rows\.csv.*ACCESS_DENIED"):
                    written(denied)
    assert 4 < completed < number - 2
