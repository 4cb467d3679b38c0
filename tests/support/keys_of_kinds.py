"""Canonical savepoints of one operator, ``a``: a state ``total`` of longs, by keys of any type."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import UnstableHashError
from savepoint_formats.hashing.key_hash import key_hashes
from savepoint_formats.key_groups.ranges import key_groups_of
from savepoint_formats.program.encode import Encoder
from savepoint_formats.tables.visible import stored_key
from savepoint_formats.values.arrow_types import arrow_type, visible_key_type
from state_processor import Savepoint, Types
from support.hand_made import (
    LONG,
    MAX_PARALLELISM,
    canonical_base,
    header,
    meta_info,
    savepoint_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_database.types.types import TypeInformation


@dataclass(frozen=True)
class KindOfKey:
    """A type of keys, three of its keys in the form of ``to_pylist``, and their texts."""

    name: str
    type: TypeInformation
    keys: tuple[Any, ...]
    texts: tuple[str, ...]

    def __str__(self) -> str:
        return self.name

    @property
    def columns(self) -> pa.Array:
        """The keys as readers see them."""
        layout = self.type.layout
        return pa.array(self.keys, visible_key_type(arrow_type(layout)))

    def savepoint(self, folder: Path) -> Savepoint:
        """A savepoint with the totals 0, 1 and 2 of the keys."""
        layout = self.type.layout
        stored = stored_key(self.columns, arrow_type(layout))
        encoded = Encoder(layout).encode(stored).to_pylist()
        entries = [
            (group, 0, key + b"\0", total.to_bytes(8))
            for total, (group, key) in enumerate(zip(self._groups(stored), encoded, strict=True))
        ]
        view = DataOutputView()
        self.type.snapshot.write(view)
        head = header(meta_info("total", "VALUE", LONG), key=view.to_bytes())
        return Savepoint.open(savepoint_of(canonical_base(head, entries), folder))

    def _groups(self, stored: pa.Array) -> list[int]:
        try:
            hashes = key_hashes(self.type.layout, stored)
        except UnstableHashError:
            return [0] * len(stored)
        groups: list[int] = key_groups_of(hashes, MAX_PARALLELISM).tolist()
        return groups


def _precise(*moment: int, nanos: int, zone: Any = UTC) -> dict[str, Any]:
    return {"seconds": datetime(*moment, tzinfo=zone), "nanos": nanos}  # type: ignore[arg-type,misc]


_NESTED = Types.TUPLE([Types.INT(), Types.TUPLE([Types.INSTANT(), Types.STRING()])])
_MOMENT = _precise(2026, 1, 31, 12, nanos=1)

KINDS = (
    KindOfKey("text", Types.STRING(), ("a", "", "ä€😀"), ("a", "", "ä€😀")),
    KindOfKey("char", Types.CHAR(), ("a", "b", "ä"), ("a", "b", "ä")),
    KindOfKey("boolean", Types.BOOLEAN(), (True, False), ("true", "false")),
    KindOfKey("byte", Types.BYTE(), (-128, 0, 127), ("-128", "0", "127")),
    KindOfKey("short", Types.SHORT(), (-32768, 0, 7), ("-32768", "0", "7")),
    KindOfKey("int", Types.INT(), (-(2**31), 0, 7), (str(-(2**31)), "0", "7")),
    KindOfKey("long", Types.LONG(), (-(2**63), 0, 7), (str(-(2**63)), "0", "7")),
    KindOfKey("float", Types.FLOAT(), (0.5, -0.0, 0.0), ("0.5", "-0.0", "0.0")),
    KindOfKey("double", Types.DOUBLE(), (0.1, -0.0, 0.0), ("0.1", "-0.0", "0.0")),
    KindOfKey(
        "tuple of numbers",
        Types.TUPLE([Types.DOUBLE(), Types.BIG_DEC()]),
        tuple({"f0": zero, "f1": "1.00"} for zero in (-0.0, 0.0, 0.1)),
        tuple(f'{{"f0": {zero}, "f1": 1.00}}' for zero in ("-0.0", "0.0", "0.1")),
    ),
    KindOfKey(
        "numbers",
        Types.PRIMITIVE_ARRAY(Types.FLOAT()),
        ([-0.0], [0.0], [0.5]),
        ("[-0.0]", "[0.0]", "[0.5]"),
    ),
    KindOfKey(
        "decimals of sql",
        Types.ROW_DATA([("f0", "DECIMAL(10, 2)"), ("f1", "DOUBLE")]),
        tuple({"f0": Decimal(digits), "f1": -0.0} for digits in ("1.00", "1.50", "-3.00")),
        tuple(f'{{"f0": {digits}, "f1": -0.0}}' for digits in ("1", "1.5", '"-3.00"')),
    ),
    KindOfKey("big int", Types.BIG_INT(), ("-1", "0", str(10**30)), ("-1", "0", str(10**30))),
    KindOfKey("big dec", Types.BIG_DEC(), ("1.0", "1.00", "-3"), ("1.0", "1.00", "-3")),
    KindOfKey(
        "java date",
        Types.DATE(),
        (datetime(2026, 1, 31, 12, 0, 0, 5000, UTC), datetime(1960, 1, 1, tzinfo=UTC)),
        ("2026-01-31 12:00:00.005Z", "1960-01-01 00:00:00Z"),
    ),
    KindOfKey(
        "instant",
        Types.INSTANT(),
        (
            _MOMENT,
            _precise(1960, 1, 1, 0, 0, 1, nanos=999_999_999),
            {"seconds": 10**12, "nanos": 5},
        ),
        (
            "2026-01-31 12:00:00.000000001Z",
            "1960-01-01 00:00:01.999999999Z",
            "+33658-09-27 01:46:40.000000005Z",
        ),
    ),
    KindOfKey(
        "sql timestamp",
        Types.SQL_TIMESTAMP(),
        (_precise(2026, 1, 31, 12, nanos=1_000), _precise(1960, 1, 1, nanos=0)),
        ("2026-01-31 12:00:00.000001Z", "1960-01-01 00:00:00Z"),
    ),
    KindOfKey(
        "local date time",
        Types.LOCAL_DATE_TIME(),
        (_precise(2026, 1, 31, 12, nanos=1, zone=None), _precise(1, 1, 1, nanos=0, zone=None)),
        ("2026-01-31 12:00:00.000000001", "0001-01-01 00:00:00"),
    ),
    KindOfKey(
        "local date",
        Types.LOCAL_DATE(),
        (date(2026, 1, 31), date(1, 1, 1)),
        ("2026-01-31", "0001-01-01"),
    ),
    KindOfKey(
        "local time",
        Types.LOCAL_TIME(),
        (pa.scalar(43_200_000_000_001, pa.time64("ns")), time(0, 0), time(1, 2, 3, 4)),
        ("12:00:00.000000001", "00:00:00", "01:02:03.000004"),
    ),
    KindOfKey(
        "sql date",
        Types.SQL_DATE(),
        (datetime(2026, 1, 31, tzinfo=UTC), datetime(1960, 1, 1, tzinfo=UTC)),
        ("2026-01-31 00:00:00Z", "1960-01-01 00:00:00.000Z"),
    ),
    KindOfKey(
        "sql time",
        Types.SQL_TIME(),
        (datetime(1970, 1, 1, 12, 0, 0, 1000, UTC), datetime(1970, 1, 1, tzinfo=UTC)),
        ("1970-01-01 12:00:00.001Z", "1970-01-01 00:00:00Z"),
    ),
    KindOfKey("enum", Types.ENUM("a.Colour", ["RED", "GREEN"]), ("RED", "GREEN"), ("RED", "GREEN")),
    KindOfKey(
        "bytes",
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        (b"\x01\xff", b""),
        ("01ff", ""),
    ),
    KindOfKey("list", Types.LIST(Types.INT()), ([1, 2], []), ("[1, 2]", "[]")),
    KindOfKey(
        "tuple",
        _NESTED,
        (
            {"f0": 1, "f1": {"f0": _MOMENT, "f1": "a"}},
            {"f0": 1, "f1": {"f0": _precise(1960, 1, 1, nanos=0), "f1": "a"}},
        ),
        (
            '{"f0": 1, "f1": {"f0": "2026-01-31 12:00:00.000000001Z", "f1": "a"}}',
            '{"f1": {"f1": "a", "f0": "1960-01-01 00:00:00Z"}, "f0": 1}',
        ),
    ),
    KindOfKey(
        "pojo",
        Types.POJO(
            "a.Place", {"day": Types.LOCAL_DATE(), "raw": Types.PRIMITIVE_ARRAY(Types.BYTE())}
        ),
        (
            {"day": date(2026, 1, 31), "raw": b"\x01\xff"},
            {"raw": None, "day": date(1960, 1, 1)},
        ),
        ('{"day": "2026-01-31", "raw": "01ff"}', '{"raw": null, "day": "1960-01-01"}'),
    ),
    KindOfKey(
        "row",
        Types.ROW([Types.LONG(), Types.LOCAL_DATE_TIME()]),
        ({"f0": 1, "f1": _precise(2026, 1, 31, nanos=7, zone=None)}, {"f0": 2, "f1": None}),
        ('{"f0": 1, "f1": "2026-01-31 00:00:00.000000007"}', '{"f0": 2, "f1": null}'),
    ),
    KindOfKey(
        "row of sql",
        Types.ROW_DATA([("f0", "BIGINT"), ("f1", "TIMESTAMP(9)"), ("f2", "ARRAY<STRING>")]),
        (
            {"f0": 1, "f1": _precise(2026, 1, 31, nanos=7, zone=None), "f2": ["a", None]},
            {"f0": None, "f1": None, "f2": None},
        ),
        (
            '{"f0": 1, "f1": "2026-01-31 00:00:00.000000007", "f2": ["a", null]}',
            '{"f0": null, "f1": null, "f2": null}',
        ),
    ),
    KindOfKey(
        "uuid",
        Types.KRYO("java.util.UUID", flink="1.20"),
        ("00000000-0000-0001-0000-000000000002", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
        ("00000000-0000-0001-0000-000000000002", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
    ),
)
"""All kinds of key."""
