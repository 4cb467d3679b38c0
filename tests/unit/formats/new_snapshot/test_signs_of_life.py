"""A local sign of a write is never there without its lock: others would take the write for dead."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from savepoint_formats.locations import Location
from savepoint_formats.new_snapshot import (
    sign_of,
    sign_of_life,
    signs_of_life,
    unused_id,
)

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_sign_has_its_lock_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_id = unused_id()
    locks: list[list[str]] = []
    own_lock = signs_of_life.lock

    def lock(descriptor: int) -> None:
        """The real lock; another program looks while it waits."""
        locks.append(os.listdir(tmp_path))
        own_lock(descriptor)

    monkeypatch.setattr(signs_of_life, "lock", lock)
    with sign_of_life(write_id, Location.of(str(tmp_path))):
        assert os.listdir(tmp_path) == [sign_of(write_id)]
        assert signs_of_life.is_locked(str(tmp_path / sign_of(write_id)))
    assert len(locks) == 1
    assert sign_of(write_id) not in locks[0]
    assert not os.listdir(tmp_path)


def test_a_sign_whose_first_file_was_removed_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_lock = signs_of_life.lock
    removed: list[str] = []

    def lock(descriptor: int) -> None:
        """The real lock, after another program has removed the rest of a dead write."""
        own_lock(descriptor)
        if not removed:
            removed.extend(os.listdir(tmp_path))
            (tmp_path / removed[0]).unlink()

    monkeypatch.setattr(signs_of_life, "lock", lock)
    write_id = unused_id()
    with sign_of_life(write_id, Location.of(str(tmp_path))):
        assert signs_of_life.is_locked(str(tmp_path / sign_of(write_id)))
    assert removed
    assert not os.listdir(tmp_path)
