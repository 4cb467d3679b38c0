"""Changes of a source with change data capture, and what its connector would refuse."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.cdc_sources import WHOLE, begun, enumerator, position, snapshot, stream

from savepoint_extensions.connectors.source_splits.cdc_changes import (
    CdcSource,
    moved,
    released,
    streaming,
    with_table,
    without_table,
)
from savepoint_extensions.connectors.source_splits.cdc_enumerator import AssignerStatus
from savepoint_extensions.connectors.source_splits.cdc_splits import CdcForm
from savepoint_formats.errors import RefusedError

if TYPE_CHECKING:
    from savepoint_extensions.connectors.source_splits.cdc_enumerator import CdcSnapshots
    from savepoint_extensions.connectors.source_splits.cdc_splits import StreamSplit

MYSQL, BASE = CdcForm(False, 4), CdcForm(True, 6)
TABLES = {"orders": [10, 20], "payments": [15]}


def source(form: CdcForm, start: int = 30) -> CdcSource:
    version = 8 if form.is_base else 5
    return CdcSource(
        ((form, stream(form, start, TABLES, "factory")),), enumerator(version, form, TABLES)
    )


def starting(form: CdcForm) -> CdcSource:
    splits = ((form, snapshot("orders", 1, form, None)), (form, snapshot("orders", 2, form, 12)))
    return CdcSource(splits, begun(8 if form.is_base else 5, form))


def stream_of(known: CdcSource) -> StreamSplit:
    return known.expect_stream()[1]


def snapshots_of(known: CdcSource) -> CdcSnapshots:
    return known.expect_snapshots()[1]


@pytest.mark.parametrize("form", [MYSQL, BASE], ids=str)
def test_a_stream_goes_on_elsewhere(form: CdcForm) -> None:
    later = position(99, is_base=form.is_base)
    changed = moved(source(form), later)
    assert changed == source(form).with_stream(lambda split: replace(split, start=later))
    with pytest.raises(RefusedError, match="still reads snapshots"):
        moved(starting(form), later)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("soon", "expected a JSON object of texts"),
        ('{"file": "a", "pos": 4}', "expected a JSON object of texts"),
        ('{"lsn": "4"}', "mysql-cdc has no lsn"),
        ('{"file": "a", "pos": "four"}', "pos must be a text with a number"),
        ('{"file": "a"}', "can't go on from it"),
        ('{"file": "", "pos": "4"}', "an empty file"),
        ('{"kind": "SOON"}', "kind must be one of EARLIEST"),
        ('{"kind": "NON_STOPPING"}', "kind must be one of EARLIEST"),
        ('{"kind": "TIMESTAMP"}', "needs ts_sec"),
    ],
)
def test_positions_that_mysql_refuses(text: str, message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        moved(source(MYSQL), text)


def test_positions_without_a_file() -> None:
    for text in (
        '{"kind": "LATEST"}',
        '{"kind": "TIMESTAMP", "ts_sec": "1"}',
        '{"gtids": "a:1-5"}',
    ):
        assert stream_of(moved(source(MYSQL), text)).start == text


@pytest.mark.parametrize("form", [MYSQL, BASE], ids=str)
def test_a_table_goes(form: CdcForm) -> None:
    changed = without_table(source(form), "shop.orders")
    split, snapshots = stream_of(changed), snapshots_of(changed)
    assert [known.split for known in split.finished] == ["shop.payments:0"]
    assert split.total == 1
    assert [known.table for known in split.schemas] == ["shop.payments"]
    assert [name for name, _ in snapshots.assigned] == ["shop.payments:0"]
    assert [name for name, _ in snapshots.finished] == ["shop.payments:0"]
    assert [known.name for known in snapshots.processed] == ["shop.payments"]
    assert [known.table for known in snapshots.schemas] == ["shop.payments"]
    assert changed.tables() == {"shop.payments"}
    with pytest.raises(RefusedError, match="the only table"):
        without_table(changed, "shop.payments")


@pytest.mark.parametrize("form", [MYSQL, BASE], ids=str)
def test_a_table_goes_while_snapshots_are_read(form: CdcForm) -> None:
    changed = without_table(starting(form), "shop.orders")
    assert changed.splits == (None, None)
    assert (snapshots_of(changed).remaining, snapshots_of(changed).assigned) == ((), ())
    assert (snapshots_of(changed).checkpoints, snapshots_of(changed).finished) == ((), ())
    changed = without_table(starting(form), "shop.payments")
    assert changed.splits == starting(form).splits
    assert (snapshots_of(changed).waiting, snapshots_of(changed).divided) == ((), None)


@pytest.mark.parametrize("form", [MYSQL, BASE], ids=str)
def test_a_table_comes(form: CdcForm) -> None:
    changed = with_table(source(form), "shop.refunds")
    split, snapshots = stream_of(changed), snapshots_of(changed)
    assert (split.total, split.schemas) == (4, ())
    assert split.finished[-1].table == "shop.refunds"
    assert split.finished[-1].watermark == split.start
    assert (split.finished[-1].start, split.finished[-1].end) == (WHOLE, WHOLE)
    assert split.finished[-1].factory == split.finished[0].factory
    assert {name for name, _ in snapshots.assigned} == {known.split for known in split.finished}
    assert dict(snapshots.finished)["shop.refunds:0"] == split.start
    assert without_table(changed, "shop.refunds").tables() == {"shop.orders", "shop.payments"}
    with pytest.raises(RefusedError, match="the source has the table"):
        with_table(source(form), "`shop`.`orders`")
    with pytest.raises(RefusedError, match="still reads snapshots"):
        with_table(starting(form), "shop.refunds")


@pytest.mark.parametrize("form", [MYSQL, BASE], ids=str)
def test_finished_splits_are_released(form: CdcForm) -> None:
    changed = released(source(form))
    split, snapshots = stream_of(changed), snapshots_of(changed)
    expected = {
        "shop.orders:0": position(20, is_base=form.is_base),
        "shop.payments:0": position(15, is_base=form.is_base),
    }
    assert {known.split: known.watermark for known in split.finished} == expected
    assert dict(snapshots.finished) == expected
    assert split.total == len(snapshots.assigned) == 2
    assert {(known.start, known.end) for _, known in snapshots.assigned} == {(WHOLE, WHOLE)}
    assert released(changed) == changed
    with pytest.raises(RefusedError, match="before the watermark"):
        released(source(form, start=19))
    assert stream_of(released(source(form, start=20))).total == 2


def test_a_watermark_of_another_server_matters() -> None:
    foreign = position(30, is_base=False, server=6)
    known = source(MYSQL).with_stream(lambda split: replace(split, start=foreign))
    with pytest.raises(RefusedError, match="several servers"):
        released(known)


def test_what_is_not_in_step_is_refused() -> None:
    known = source(MYSQL)
    fewer = known.with_stream(lambda split: replace(split, finished=split.finished[:1]))
    for change in (released, lambda given: without_table(given, "shop.orders")):
        with pytest.raises(RefusedError, match="1 of 3 finished splits"):
            change(fewer)
    added = replace(snapshots_of(known), status=AssignerStatus.NEWLY_ADDED_ASSIGNING)
    with pytest.raises(RefusedError, match="NEWLY_ADDED_ASSIGNING"):
        released(known.with_snapshots(added))
    other = replace(snapshots_of(known), assigned=snapshots_of(known).assigned[:1])
    with pytest.raises(RefusedError, match="different finished splits"):
        released(known.with_snapshots(other))
    unmarked = known.with_stream(
        lambda split: replace(
            split, finished=tuple(replace(item, watermark=None) for item in split.finished)
        )
    )
    with pytest.raises(RefusedError, match="has no watermark"):
        released(unmarked)


@pytest.mark.parametrize("form", [MYSQL, BASE], ids=str)
def test_from_snapshots_to_the_stream(form: CdcForm) -> None:
    start = position(40, is_base=form.is_base)
    changed = streaming(starting(form), start)
    snapshots = snapshots_of(changed)
    assert changed.splits == (None, None)
    assert changed.enumerator is not None
    assert changed.enumerator.is_streamed is False
    assert snapshots.status is AssignerStatus.INITIAL_ASSIGNING_FINISHED
    assert (snapshots.remaining, snapshots.waiting, snapshots.checkpoints) == ((), (), ())
    assert snapshots.divided is None
    assert dict(snapshots.finished) == {"shop.orders:0": start, "shop.payments:0": start}
    assert [name for name, _ in snapshots.assigned] == ["shop.orders:0", "shop.payments:0"]
    assert [known.name for known in snapshots.processed] == ["shop.orders", "shop.payments"]
    with pytest.raises(RefusedError, match="reads the stream"):
        streaming(source(form), start)
    with pytest.raises(RefusedError, match="has no scn"):
        streaming(starting(form), '{"scn": "4"}')
    assert starting(form).enumerator is not None
    bounded = replace(starting(form), enumerator=replace(begun(5, MYSQL), is_streamed=None))
    with pytest.raises(RefusedError, match="no stream"):
        streaming(bounded, start)
    with pytest.raises(RefusedError, match="no state of snapshots"):
        streaming(replace(starting(form), enumerator=None), start)
