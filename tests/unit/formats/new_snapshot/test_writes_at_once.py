"""Two writers into one directory: one savepoint is there, and it is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from pyarrow.fs import FileSelector
from support.two_writers import file_of, metadata_of, read, write

from savepoint_formats.errors import (
    NotASavepointError,
    SavepointError,
    SavepointExistsError,
)
from savepoint_formats.locations.location import Location
from savepoint_formats.new_snapshot.directory import NewSnapshot, WriteMode

if TYPE_CHECKING:
    from pathlib import Path

    from support.s3_server import S3Server

OVERWRITE = WriteMode.OVERWRITE


def names(path: Path) -> set[str]:
    return {file.name for file in path.iterdir()}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "jobs/savepoint-1"


class TestAtTheSameTime:
    def test_one_completes_and_the_other_is_told(self, out: Path) -> None:
        first, second = NewSnapshot.at(str(out)), NewSnapshot.at(str(out), OVERWRITE)
        handles = [file_of(first, b"first"), file_of(second, b"second")]
        first.commit(metadata_of(handles[0]))
        with pytest.raises(SavepointExistsError, match="is a savepoint already"):
            second.commit(metadata_of(handles[1]))
        assert read(str(out)) == [b"first"]

    def test_of_two_that_overwrite_too(self, out: Path) -> None:
        write(str(out), b"old")
        first, second = (NewSnapshot.at(str(out), OVERWRITE) for _ in range(2))
        with second.begun():
            late = file_of(second, b"second")
            with first.begun():
                first.commit(metadata_of(file_of(first, b"first")))
            assert late.path in names(out)
            with pytest.raises(SavepointExistsError, match="another write has replaced it"):
                second.commit(metadata_of(late))
        assert read(str(out)) == [b"first"]

    def test_what_the_other_has_written_is_removed_by_itself(self, out: Path) -> None:
        write(str(out), b"old")
        late = NewSnapshot.at(str(out), OVERWRITE)

        def meanwhile() -> None:
            file_of(late, b"late")
            sizes.update(write(str(out), b"new", mode="overwrite"))
            assert len(names(out) - sizes.keys()) == 2
            late.commit(metadata_of())

        sizes: dict[str, int] = {}
        with pytest.raises(SavepointExistsError), late.begun():
            meanwhile()
        assert names(out) == sizes.keys()

    def test_a_directory_of_a_write_that_is_under_way_is_called_so(self, out: Path) -> None:
        first = NewSnapshot.at(str(out))
        with first.begun():
            file_of(first, b"first")
            with pytest.raises(NotASavepointError, match="of a write that is under way"):
                NewSnapshot.at(str(out), OVERWRITE)

    def test_an_error_of_the_writer_stays_what_it_is(self, out: Path) -> None:
        with pytest.raises(ConnectionError, match="elsewhere"), NewSnapshot.at(str(out)).begun():
            raise ConnectionError("elsewhere")
        assert names(out) == set()


def folder_of(request: pytest.FixtureRequest, where: str) -> str:
    if where == "disk":
        return str(request.getfixturevalue("tmp_path") / "savepoint-1")
    server: S3Server = request.getfixturevalue("s3_server")
    return server.uri(server.bucket(f"late-{uuid4().hex}"), "savepoint-1")


def names_at(path: str) -> set[str]:
    folder = Location.of(path)
    infos = folder.filesystem.get_file_info(FileSelector(folder.path, allow_not_found=True))
    return {info.base_name for info in infos}


@pytest.mark.parametrize("where", ["disk", "store"])
class TestTasksThatOutliveTheirWrite:
    """Attempts whose result Spark does not wait for."""

    def test_remove_a_file_that_they_begin_when_the_savepoint_is_complete(
        self, request: pytest.FixtureRequest, where: str
    ) -> None:
        path = folder_of(request, where)
        with NewSnapshot.at(path).begun() as target:
            target.commit(metadata_of(file_of(target, b"data")))
        complete = names_at(path)
        with pytest.raises(SavepointError, match="is too late, because its write has ended"):
            file_of(target, b"late")
        assert names_at(path) == complete
        assert read(path) == [b"data"]

    def test_leave_no_file_that_they_have_begun_before(
        self, request: pytest.FixtureRequest, where: str
    ) -> None:
        path = folder_of(request, where)
        with NewSnapshot.at(path).begun() as target:
            target.commit(metadata_of(file_of(target, b"data")))
            late = target.create("runs", is_lasting=False)
            late.write(b"late")
        with pytest.raises(SavepointError, match="is too late, because its write has ended"):
            late.close()
        assert len(names_at(path)) == 2
        assert read(path) == [b"data"]

    def test_leave_nothing_of_a_write_that_has_failed(
        self, request: pytest.FixtureRequest, where: str
    ) -> None:
        path = folder_of(request, where)
        with pytest.raises(RuntimeError), NewSnapshot.at(path).begun() as target:
            raise RuntimeError
        with pytest.raises(SavepointError, match="is too late, because its write has ended"):
            file_of(target, b"late")
        assert not names_at(path)


def test_a_task_that_is_killed_leaves_no_file_that_it_began_too_late(tmp_path: Path) -> None:
    path = str(tmp_path / "savepoint-1")
    with NewSnapshot.at(path).begun() as target:
        target.commit(metadata_of(file_of(target, b"data")))
    complete = names_at(path)
    # Nothing closes it.
    with pytest.raises(SavepointError, match="is too late, because its write has ended"):
        target.create("runs", is_lasting=False)
    assert names_at(path) == complete
