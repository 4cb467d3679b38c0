"""Splits and enumerators of change data capture, as the connectors write them."""

from __future__ import annotations

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.source_splits.cdc_enumerator import (
    AssignerStatus,
    CdcEnumerator,
    CdcSnapshots,
    CdcTable,
    DividedTable,
)
from savepoint_extensions.connectors.source_splits.cdc_splits import (
    CdcForm,
    CdcSchema,
    CdcSplit,
    FinishedSplit,
    SnapshotSplit,
    StreamSplit,
    split_bytes,
)

WHOLE = "aced000570"
"""The serialized row that bounds nothing."""

SEVEN = (
    "aced0005757200135b4c6a6176612e6c616e672e4f626a6563743b90ce589f1073296c0200007870000000017372"
    "00116a6176612e6c616e672e496e746567657212e2a0a4f781873802000149000576616c7565787200106a617661"
    "2e6c616e672e4e756d62657286ac951d0b94e08b020000787000000007"
)
"""A serialized row with the number 7."""

_DOCUMENT = (
    '{{"type":"CREATE","id":"\\"shop\\".\\"{0}\\"","table":{{"defaultCharsetName":null,'
    '"primaryKeyColumnNames":["id"],"columns":[{{"name":"id","jdbcType":4,"typeName":"INT",'
    '"typeExpression":"INT","charsetName":null,"position":1,"optional":false,'
    '"autoIncremented":false,"generated":false}}]}}}}'
)


def position(number: int, *, is_base: bool, server: int = 5) -> str:
    """A position that grows with ``number``."""
    if is_base:
        return f'{{"lsn":"{number}","ts_usec":"17"}}'
    return (
        f'{{"transaction_id":null,"ts_sec":"17","file":"mysql-bin.000003","pos":"{number}",'
        f'"kind":"SPECIFIC","row":"0","event":"0","server_id":"{server}"}}'
    )


def schema(table: str, form: CdcForm) -> CdcSchema:
    return CdcSchema(f"shop.{table}", _DOCUMENT.format(table), catalog=not form.catalog)


def snapshot(table: str, number: int, form: CdcForm, watermark: int | None) -> SnapshotSplit:
    return SnapshotSplit(
        f"shop.{table}",
        f"shop.{table}:{number}",
        "ROW<`id` INT NOT NULL>",
        WHOLE,
        WHOLE,
        None if watermark is None else position(watermark, is_base=form.is_base),
        catalog=not form.catalog,
    )


def stream(form: CdcForm, start: int, splits: dict[str, list[int]], factory: str) -> StreamSplit:
    """The stream, with a watermark for each finished split of a table."""
    finished = tuple(
        FinishedSplit(
            f"shop.{table}",
            f"shop.{table}:{number}",
            WHOLE,
            WHOLE,
            factory if form.is_base else "",
            position(watermark, is_base=form.is_base),
            catalog=not form.catalog,
        )
        for table, watermarks in splits.items()
        for number, watermark in enumerate(watermarks)
    )
    return StreamSplit(
        "stream-split" if form.is_base else "binlog-split",
        position(start, is_base=form.is_base),
        position(1 << 40, is_base=form.is_base),
        finished,
        tuple(schema(table, form) for table in splits),
        len(finished),
        is_suspended=False if form.has_suspended else None,
        is_completed=form.version >= 6,
    )


def enumerator(
    version: int, form: CdcForm, splits: dict[str, list[int]], *, is_streamed: bool = True
) -> CdcEnumerator:
    """An enumerator whose snapshots are finished."""
    assigned = [
        (f"shop.{table}:{number}", snapshot(table, number, form, None), watermark)
        for table, watermarks in splits.items()
        for number, watermark in enumerate(watermarks)
    ]
    catalog = not (form.is_base and version >= 5)
    snapshots = CdcSnapshots(
        tuple(CdcTable(f"shop.{table}", catalog) for table in splits),
        (),
        tuple((name, split) for name, split, _ in assigned),
        tuple((name, position(watermark, is_base=form.is_base)) for name, _, watermark in assigned),
        AssignerStatus.INITIAL_ASSIGNING_FINISHED,
        schemas=tuple(schema(table, form) for table in splits) if version >= 4 else (),
    )
    return CdcEnumerator(version, form, snapshots, is_streamed)


def begun(version: int, form: CdcForm) -> CdcEnumerator:
    """An enumerator in the middle of its snapshots: all that such a state may hold."""
    known = enumerator(version, form, {"orders": [10]}, is_streamed=False)
    snapshots = known.snapshots
    assert snapshots is not None
    has_divided = version >= (8 if form.is_base else 5)
    started = CdcSnapshots(
        snapshots.processed,
        (snapshot("orders", 1, form, None),),
        snapshots.assigned,
        snapshots.finished,
        AssignerStatus.INITIAL_ASSIGNING,
        (CdcTable("shop.payments", snapshots.processed[0].catalog),) if version >= 3 else (),
        version >= 3,
        snapshots.schemas,
        (("shop.orders:0", 7),) if version >= 7 else (),
        DividedTable("shop.payments", SEVEN, 3) if has_divided else None,
    )
    return CdcEnumerator(version, form, started, False)


def element(split: CdcSplit, form: CdcForm) -> bytes:
    """An element of ``SourceReaderState``."""
    return Versioned(form.version, split_bytes(split, form)).to_bytes()
