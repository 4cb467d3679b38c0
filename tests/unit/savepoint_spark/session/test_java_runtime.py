"""What is run from a folder of this user could have been written by nobody else."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from savepoint_spark.session.java_runtime import own_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def give_away(folder: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a folder to another user")
    os.chown(folder, 12345, -1)


def link(folder: Path) -> None:
    moved = folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(moved)


def let_all_write(folder: Path) -> None:
    folder.chmod(0o777)


def let_the_group_write(folder: Path) -> None:
    folder.chmod(0o770)


def test_each_user_has_a_folder_in_a_place_for_all(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    folder = own_folder(tmp_path / "savepoint")
    assert folder == tmp_path / "savepoint" / f"user-{os.geteuid()}"
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IRWXU
    assert own_folder(tmp_path / "savepoint") == folder


@pytest.mark.parametrize("share", [give_away, link, let_all_write, let_the_group_write])
def test_a_folder_that_others_could_write_is_not_used(
    tmp_path: Path, share: Callable[[Path], None]
) -> None:
    folder = own_folder(tmp_path)
    assert folder is not None
    share(folder)
    assert own_folder(tmp_path) is None


def test_a_place_that_is_no_folder_gives_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert own_folder(tmp_path / "file") is None
