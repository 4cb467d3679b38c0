"""State of change data capture in the versions of other releases; ``test_cdc_splits.py`` asks these."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.cdc_sources import enumerator, stream

from savepoint_extensions.connectors.source_splits.cdc_changes import CdcSource
from savepoint_extensions.connectors.source_splits.cdc_enumerator import DividedTable
from savepoint_extensions.connectors.source_splits.cdc_splits import CdcForm, StreamSplit
from savepoint_extensions.connectors.source_splits.cdc_versions import as_version
from savepoint_formats.errors import RefusedError

BASE, MYSQL = CdcForm(True, 6), CdcForm(False, 4)


def source(form: CdcForm, version: int, tables: dict[str, list[int]]) -> CdcSource:
    state = enumerator(version, form, tables)
    assert state.snapshots is not None
    bare = replace(state.snapshots, divided=None, checkpoints=())
    return CdcSource(((form, stream(form, 30, tables, "factory")),), replace(state, snapshots=bare))


def test_splits_have_the_version_that_goes_with_the_enumerator() -> None:
    known = as_version(source(BASE, 8, {"orders": [10]}), 6)
    assert known.enumerator is not None
    assert (known.enumerator.version, known.enumerator.form.version) == (6, 5)
    (split,) = known.splits
    assert split is not None
    assert split[0] == CdcForm(True, 5)
    again = as_version(known, 8)
    assert again.enumerator == source(BASE, 8, {"orders": [10]}).enumerator


def test_what_has_no_room_is_refused() -> None:
    full = source(BASE, 8, {})
    assert full.enumerator is not None
    assert full.enumerator.snapshots is not None
    divided = replace(full.enumerator.snapshots, divided=DividedTable("orders", "x", 3))
    full = replace(full, enumerator=replace(full.enumerator, snapshots=divided))
    with pytest.raises(RefusedError, match="version 6 of enumerators has no room for divided"):
        as_version(full, 6)
    (known,) = source(BASE, 8, {}).splits
    assert known is not None
    assert isinstance(known[1], StreamSplit)
    waits = replace(source(BASE, 8, {}), splits=((BASE, replace(known[1], is_suspended=True)),))
    with pytest.raises(RefusedError, match="version 4 of splits has no room for is_suspended"):
        as_version(waits, 5)


def test_versions_of_no_release_are_refused() -> None:
    with pytest.raises(RefusedError, match="no release writes version 7 of enumerators, only 5, 6"):
        as_version(source(BASE, 8, {}), 7)
    with pytest.raises(RefusedError, match="only 2, 3, 5"):
        as_version(source(MYSQL, 5, {}), 4)
    with pytest.raises(RefusedError, match="the source has no enumerator"):
        as_version(CdcSource((), None), 5)


def test_finished_snapshots_do_not_cross_the_renaming() -> None:
    with pytest.raises(
        RefusedError, match=r"name a class, which releases before 3\.1 call otherwise"
    ):
        as_version(source(BASE, 8, {"orders": [10]}), 5)
    older = as_version(source(BASE, 8, {}), 5)
    assert older.enumerator is not None
    assert older.enumerator.form == CdcForm(True, 4)
