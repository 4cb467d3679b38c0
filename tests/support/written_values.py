"""Values as the files of vectors write them down, turned into those that columns hold.

It goes by the layout, independently of the code that reads bytes.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY

from savepoint_formats import layout as layouts

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout, LogicalType

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KINDS = ("+I", "-U", "+U", "-D")
WIDE = Context(prec=200)


def number(written: dict[str, int]) -> Decimal:
    return Decimal(written["unscaled"]).scaleb(-written["scale"], WIDE)


def precise(count: int, epoch: datetime) -> dict[str, Any]:
    """A time with nanoseconds, which Arrow has as a struct; a number where Python has no such."""
    seconds, nanos = divmod(count, 10**9)
    try:
        return {"seconds": epoch + timedelta(seconds=seconds), "nanos": nanos}
    except OverflowError:
        return {"seconds": seconds, "nanos": nanos}


def nano_of_day(hour: int, minute: int, second: int, nano: int) -> int:
    return ((hour * 60 + minute) * 60 + second) * 10**9 + nano


def expected(layout: Layout, written: Any) -> Any:  # noqa: PLR0912 - a table
    """The value that a file writes down in its own way."""
    match layout:
        case layouts.Marker() | layouts.OfScala(layouts.Marker()):
            marker = layout.inner if isinstance(layout, layouts.OfScala) else layout
            assert isinstance(marker, layouts.Marker)
            return marker.text or None
        case layouts.VoidNamespace():
            return None
        case layouts.Kryo() | layouts.JavaObject():
            return ANY
        case layouts.Nullable(inner, False) if isinstance(written, dict) and "some" in written:
            return expected(inner, written["some"])
        case layouts.Framed(layouts.Opaque()):
            return {"bytes": bytes.fromhex(written["hex"]), "reason": ANY}
        case _ if written is None:
            return None
        case layouts.Nullable(inner) | layouts.Framed(inner):
            return expected(inner, written)
        case layouts.BigInteger():
            return str(written)
        case layouts.BigDecimal():
            return str(number(written))
        case layouts.DecimalData():
            return number(written)
        case layouts.JavaDate():
            return EPOCH + timedelta(milliseconds=written["millis"])
        case layouts.SqlTimestamp():
            return precise(written["millis"] // 1000 * 10**9 + written["nanos"], EPOCH)
        case layouts.Instant():
            return precise(written["sec"] * 10**9 + written["nano"], EPOCH)
        case layouts.LocalDate():
            return date(*written)
        case layouts.LocalTime():
            return nano_of_day(*written)
        case layouts.LocalDateTime():
            days = date(*written[:3]) - EPOCH.date()
            count = days.days * 86_400 * 10**9 + nano_of_day(*written[3:])
            return precise(count, EPOCH.replace(tzinfo=None))
        case layouts.TimestampData(precision):
            return timestamp(written, precision)
        case layouts.Bytes():
            return bytes.fromhex(written["hex"])
        case layouts.NullCount():
            return written["nulls"]
        case layouts.Repeated(element) | layouts.MaskedRepeated(element):
            return [expected(element, item) for item in written]
        case layouts.MapOf(key, value):
            return entries(
                [(expected(key, k), expected(value, v)) for k, v in written["map"]],
                isinstance(key, layouts.Nullable),
            )
        case layouts.MaskedStruct(names, fields, has_kind):
            row = in_order(names, fields, written["f"])
            return row | ({"$row_kind": KINDS[written["kind"]]} if has_kind else {})
        case layouts.BinaryRow(names, types):
            row = sql_row(names, types, written["f"])
            return row | {"$row_kind": KINDS[written["kind"]]}
        case layouts.BinaryArray(element_type):
            return [sql(element_type, item) for item in written]
        case layouts.BinaryMap(key_type, value_type):
            return [(sql(key_type, k), sql(value_type, v)) for k, v in written["map"]]
        case layouts.Ttl(value):
            timestamp_ms = EPOCH + timedelta(milliseconds=written["ts"])
            return {"timestamp": timestamp_ms, "value": expected(value, written["value"])}
        case layouts.Tagged():
            return alternative(layout, written)
        case layouts.Pojo():
            return pojo(layout, written)
        case layouts.Struct(("pending", *_) as names, fields):
            return two_phase_commit(names, fields, written)
        case layouts.Struct(names, fields):
            return in_order(names, fields, written)
        case _:
            return written


def timestamp(written: list[int], precision: int, zone: Any = None) -> Any:
    nanos = written[0] * 10**6 + written[1]
    if precision > 6:
        return precise(nanos, EPOCH.replace(tzinfo=zone))
    return EPOCH.replace(tzinfo=zone) + timedelta(microseconds=nanos // 1000)


def in_order(names: tuple[str, ...], fields: tuple[Layout, ...], written: Any) -> dict[str, Any]:
    values = list(written.values()) if isinstance(written, dict) else written
    return {
        name: expected(field, value)
        for name, field, value in zip(names, fields, values, strict=True)
    }


def entries(pairs: list[tuple[Any, Any]], is_list: bool) -> list[Any]:
    return [{"key": key, "value": value} for key, value in pairs] if is_list else pairs


def two_phase_commit(names: Any, fields: Any, written: Any) -> dict[str, Any]:
    pending, context = written["pending"], written["ctx"]
    committing = [list(transaction.values()) for transaction in written["commit"]]
    return in_order(names, fields, [pending["h"], pending["t"], committing, context])


STREAM_ELEMENTS = {
    "wm": "watermark",
    "latency": "latency",
    "status": "status",
    "backlog": "is_backlog",
}


def alternative(layout: layouts.Tagged, written: Any) -> dict[str, Any]:
    name, value = stream_element(written)
    if "tag" in written:
        name, value = layout.names[written["tag"] - 1], written["v"]
    if name not in layout.names:
        ((name, value),) = written.items()
    field = layout.fields[layout.names.index(name)]
    return dict.fromkeys(layout.names) | {name: expected(field, value)}


def stream_element(written: dict[str, Any]) -> tuple[str, Any]:
    if "rec" not in written:
        ((name, value), *_) = written.items()
        return STREAM_ELEMENTS.get(name, name), value
    if "ts" in written:
        return "record", [written["ts"], written["rec"]]
    return "record_without_timestamp", written["rec"]


def pojo(layout: layouts.Pojo, written: dict[str, Any]) -> dict[str, Any]:
    name, class_layout, fields = layout.class_name, layout, written
    if "$subclass" in written:
        fields = written["v"]
        known: Any = layout.registered if "$tag" in written else layout.unregistered
        candidates = [
            candidate for candidate in known if candidate[0].endswith(written["$subclass"])
        ]
        name, class_layout = known[written["$tag"]] if "$tag" in written else candidates[0]
    values = in_order(class_layout.names, class_layout.fields, fields)
    classes = [(layout.class_name, layout), *layout.registered, *layout.unregistered]
    if len(classes) == 1:
        return values
    columns = own_columns(classes)
    row = {"$class": name} | dict.fromkeys(
        field for own in columns.values() for field in own.values()
    )
    return row | {columns[name][field]: value for field, value in values.items()}


def own_columns(classes: list[tuple[str, Any]]) -> dict[str, dict[str, str]]:
    """The column of each field of each class: its name, or name@Class if another has it."""
    taken: dict[str, Layout] = {}
    columns: dict[str, dict[str, str]] = {}
    for name, class_layout in classes:
        columns[name] = {
            field: field
            if taken.setdefault(field, kind) == kind
            else f"{field}@{name.split('$')[-1]}"
            for field, kind in zip(class_layout.names, class_layout.fields, strict=True)
        }
    return columns


def sql_row(names: Any, types: Any, written: list[Any]) -> dict[str, Any]:
    return {
        name: sql(field_type, value)
        for name, field_type, value in zip(names, types, written, strict=True)
    }


def sql(sql_type: LogicalType, written: Any) -> Any:  # noqa: PLR0912 - a table
    if written is None:
        return None
    match sql_type.root, sql_type.children:
        case "DECIMAL", _:
            return number(written)
        case "DATE", _:
            return date.fromordinal(date(1970, 1, 1).toordinal() + written)
        case "TIME_WITHOUT_TIME_ZONE", _:
            return (EPOCH + timedelta(milliseconds=written)).time()
        case "TIMESTAMP_WITHOUT_TIME_ZONE", _:
            return timestamp(written, sql_type.precision)
        case "TIMESTAMP_WITH_LOCAL_TIME_ZONE", _:
            return timestamp(written, sql_type.precision, UTC)
        case "INTERVAL_DAY_TIME", _:
            return timedelta(milliseconds=written)
        case (("ROW" | "STRUCTURED_TYPE"), types):
            return sql_row(sql_type.names, types, written["f"])
        case "ARRAY", (element,):
            return [sql(element, item) for item in written]
        case "MAP", (key, value):
            return [(sql(key, k), sql(value, v)) for k, v in written["map"]]
        case "MULTISET", (element,):
            return [(sql(element, k), v) for k, v in written["map"]]
        case (("BINARY" | "VARBINARY"), _):
            return bytes.fromhex(written["hex"])
        case "RAW", _:
            assert sql_type.raw == layouts.Int()
            return int.from_bytes(bytes.fromhex(written["rawhex"]), "big", signed=True)
        case _:
            return written
