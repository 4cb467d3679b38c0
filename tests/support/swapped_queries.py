"""Queries over every kind of state, and tables two of whose columns may have changed places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.query_jobs import Statements

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ROWS = 240
_TIMES = "ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
_TABLES = {
    "orders": f"id BIGINT, customer STRING, {{}}, price DOUBLE, qty INT, {_TIMES}, p AS PROCTIME()",
    "customers": f"name STRING, {{}}, lvl INT, {_TIMES}",
    "cities": "name STRING, {}",
    "rates": f"currency STRING, {{}}, rate BIGINT, {_TIMES}, PRIMARY KEY (currency) NOT ENFORCED",
}
_FIRST_TEXT = {"orders": 3, "customers": 2, "cities": 2, "rates": 2}
_LOOKED_UP = "cities"
_UPSERTS = {"rates": ", 'upserts' = 'true'"}


def write_tables(folder: Path) -> None:
    """Writes the rows of each table in both orders of its two columns of texts."""
    rows = {
        "orders": [
            f"+I|{i // 3}|c{i % 7}|r{i % 5}|n{i % 11}|{(i * 37) % 101 + 0.5}|{i % 4}|{_time(i)}"
            for i in range(ROWS)
        ],
        "customers": [f"+I|c{i % 9}|r{i % 3}|n{i}|{i}|{_time(i * 9)}" for i in range(26)],
        "cities": [f"+I|c{i}|r{i % 3}|n{i}" for i in range(9)],
        "rates": [f"+U|c{i % 5}|r{i % 4}|n{i % 3}|{i}|{_time(i * 4)}" for i in range(60)],
    }
    for name, lines in rows.items():
        (folder / name).write_text("\n".join(lines))
        swapped = [line.split("|") for line in lines]
        place = _FIRST_TEXT[name]
        for values in swapped:
            values[place : place + 2] = reversed(values[place : place + 2])
        (folder / f"{name}_swapped").write_text("\n".join(map("|".join, swapped)))


def _time(second: int) -> str:
    return f"2024-01-01T00:{second // 60:02}:{second % 60:02}"


@dataclass(frozen=True)
class Query:
    """A query, and the columns of its sink."""

    text: str
    columns: str = "i BIGINT, r STRING, n STRING"


@dataclass(frozen=True)
class Group:
    """Queries of one job, options of its planner, and the first release that it is tested with.

    State of the job whose columns are swapped, or of the other one, has a time to live.
    """

    queries: Mapping[str, Query]
    options: tuple[str, ...] = ()
    since: str = "2.3.0"
    backend: str = "hashmap"
    begins_to_expire: bool = True


def statements(group: Group, folder: Path, *, is_swapped: bool) -> Statements:
    """The job of a group; the rows of a query begin with its name."""
    queries = group.queries
    texts = ["region STRING", "note STRING"]
    tables = []
    for name, columns in _TABLES.items():
        # A lookup join over another table is refused.
        swaps = is_swapped and name != _LOOKED_UP
        both = ", ".join(reversed(texts) if swaps else texts)
        options = f"'connector' = 'rows', 'path' = '{folder / name}{'_swapped' * swaps}'"
        options += _UPSERTS.get(name, "")
        tables.append(f"CREATE TABLE {name} ({columns.format(both)}) WITH ({options})")
    sinks = [
        f"CREATE TABLE to_{name} ({query.columns}) WITH ('connector' = 'rows', 'name' = '{name}')"
        for name, query in queries.items()
    ]
    inserts = [f"INSERT INTO to_{name} {query.text}" for name, query in queries.items()]
    read = " ".join(inserts)
    sources = sum(name in read for name in _TABLES if name != _LOOKED_UP)
    planner = (*group.options, *_EXPIRING * (is_swapped == group.begins_to_expire))
    return Statements([*tables, *sinks], inserts, planner, sources, group.backend)


def _numbered(order: str, last: int = 1, by: str = "id", rows: str = "orders") -> str:
    number = f"ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY {order})"
    return f"SELECT * FROM (SELECT *, {number} AS num FROM {rows}) WHERE num <= {last}"


def _over(order: str, frame: str = "") -> Query:
    window = f"PARTITION BY customer ORDER BY {order} {frame}"
    text = f"SELECT id, region, note, SUM(price) OVER ({window}) FROM orders"
    return Query(text, "i BIGINT, r STRING, n STRING, s DOUBLE")


def _windows(table: str) -> str:
    return f"TABLE(TUMBLE(TABLE {table}, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"


_PREFIX = "id, region, note"
_BOUNDED = "ROWS BETWEEN 3 PRECEDING AND CURRENT ROW"
_COUNTS = (
    "(SELECT customer, region, note, COUNT(*) AS cnt FROM orders GROUP BY customer, region, note)"
)
_CRN = "c STRING, r STRING, n STRING"
_PAIR = "i BIGINT, r STRING, n STRING, r2 STRING, n2 STRING"
_BOTH = "o.id, o.region, o.note, c.region, c.note"
_BETWEEN = "o.ts BETWEEN c.ts - INTERVAL '30' SECOND AND c.ts + INTERVAL '30' SECOND"

DEDUPLICATED = {
    "first_by_time": Query(f"SELECT {_PREFIX} FROM ({_numbered('ts ASC')})"),
    "first_counted": Query(
        f"SELECT COUNT(*), region, MAX(note) FROM ({_numbered('ts ASC')}) GROUP BY region"
    ),
    "last_by_time": Query(f"SELECT {_PREFIX} FROM ({_numbered('ts DESC')})"),
    "last_by_arrival": Query(f"SELECT {_PREFIX} FROM ({_numbered('p DESC')})"),
    "first_by_arrival": Query(f"SELECT {_PREFIX} FROM ({_numbered('p ASC')})"),
}
RANKED = {
    "top": Query(f"SELECT {_PREFIX} FROM ({_numbered('price DESC', 3, 'customer')})"),
    "top_of_counts": Query(
        f"SELECT customer, region, note FROM ({_numbered('cnt DESC', 3, 'customer', _COUNTS)})",
        _CRN,
    ),
    "first_of_counts": Query(
        f"SELECT customer, region, note FROM ({_numbered('cnt DESC', 1, 'customer', _COUNTS)})",
        _CRN,
    ),
    "least_of_counts": Query(
        f"SELECT customer, region, note FROM ({_numbered('cnt ASC, note', 3, 'customer', _COUNTS)})",
        _CRN,
    ),
    "limit": Query(f"SELECT {_PREFIX} FROM orders LIMIT 5"),
    "sort_limit": Query(f"SELECT {_PREFIX} FROM orders ORDER BY price DESC, id LIMIT 5"),
}
JOINED = {
    "join": Query(f"SELECT {_BOTH} FROM orders o JOIN customers c ON o.customer = c.name", _PAIR),
    "left_join": Query(
        f"SELECT {_BOTH} FROM orders o LEFT JOIN customers c ON o.customer = c.name", _PAIR
    ),
    "join_by_key": Query(
        f"SELECT {_BOTH} FROM orders o JOIN rates c ON o.customer = c.currency", _PAIR
    ),
    "join_unique": Query(
        f"SELECT {_BOTH} FROM orders o JOIN rates c ON o.region = c.region", _PAIR
    ),
    "interval_join": Query(
        f"SELECT {_BOTH} FROM orders o JOIN customers c ON o.customer = c.name AND {_BETWEEN}",
        _PAIR,
    ),
    "window_join": Query(
        f"SELECT {_BOTH} FROM (SELECT * FROM {_windows('orders')}) o"
        f" JOIN (SELECT * FROM {_windows('customers')}) c ON o.customer = c.name"
        " AND o.window_start = c.window_start AND o.window_end = c.window_end",
        _PAIR,
    ),
}
VERSIONED = {
    "temporal_join": Query(
        f"SELECT {_BOTH} FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.ts AS c"
        " ON o.customer = c.currency",
        _PAIR,
    ),
}
WINDOWED = {
    "window_rank": Query(
        f"SELECT {_PREFIX} FROM ("
        + _numbered("price DESC", 3, "window_start, window_end, customer", f"{_windows('orders')}")
        + ")"
    ),
    "window_first": Query(
        f"SELECT {_PREFIX} FROM ("
        + _numbered("ts ASC", 1, "window_start, window_end, id", f"{_windows('orders')}")
        + ")"
    ),
    "window_aggregate": Query(
        "SELECT COUNT(*), MIN(region), MAX(note)"
        f" FROM {_windows('orders')} GROUP BY customer, window_start, window_end"
    ),
    "sessions": Query(
        f"SELECT {_PREFIX} FROM TABLE(SESSION(TABLE orders PARTITION BY id, DESCRIPTOR(ts),"
        " INTERVAL '5' SECOND))"
    ),
    "group_window": Query(
        "SELECT COUNT(*), MIN(region), MAX(note) FROM orders"
        " GROUP BY customer, SESSION(ts, INTERVAL '20' SECOND)"
    ),
}
OTHERS = {
    "aggregate": Query(
        "SELECT SUM(id), FIRST_VALUE(region), LAST_VALUE(note) FROM orders GROUP BY customer"
    ),
    "over_time": _over("ts"),
    "over_time_rows": _over("ts", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
    "over_time_bounded": _over("ts", _BOUNDED),
    "over_arrival": _over("p"),
    "over_arrival_bounded": _over("p", _BOUNDED),
    "sort": Query(f"SELECT {_PREFIX} FROM orders ORDER BY ts"),
    "match": Query(
        "SELECT id, region, note FROM orders MATCH_RECOGNIZE (PARTITION BY customer ORDER BY ts"
        " MEASURES A.id AS id, A.region AS region, B.note AS note ONE ROW PER MATCH"
        " AFTER MATCH SKIP PAST LAST ROW PATTERN (A B) DEFINE A AS A.qty = 1, B AS B.region <> 'x')"
    ),
}
NOT_BY_TIME = {
    "over_price": _over("price"),
    "over_price_rows": _over("price", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
    "over_changes": Query(
        "SELECT cnt, region, note, SUM(cnt) OVER (PARTITION BY customer ORDER BY note)"
        f" FROM {_COUNTS}",
        "i BIGINT, r STRING, n STRING, s BIGINT",
    ),
}
MATERIALIZED = {
    "normalize": Query("SELECT currency, region, note FROM rates", _CRN),
    "upserts": Query(
        f"SELECT {_BOTH} FROM orders o JOIN customers c ON o.customer = c.name",
        f"{_PAIR}, PRIMARY KEY (i) NOT ENFORCED",
    ),
}
MULTIPLE = {
    "multi_join": Query(
        f"SELECT {_BOTH} FROM orders o JOIN customers c ON o.customer = c.name"
        " JOIN rates r ON o.customer = r.currency",
        _PAIR,
    ),
}
LOOKED_UP = {
    "lookup": Query(
        "SELECT o.id, o.region, o.note, c.region, c.note FROM (SELECT customer, region, note,"
        " COUNT(*) AS id, PROCTIME() AS p FROM orders GROUP BY customer, region, note) o"
        " JOIN cities FOR SYSTEM_TIME AS OF o.p AS c ON o.customer = c.name",
        _PAIR,
    ),
}
_MINI_BATCH = (
    "table.exec.mini-batch.enabled=true",
    "table.exec.mini-batch.allow-latency=1 s",
    "table.exec.mini-batch.size=10",
)
_EXPIRING = ("table.exec.state.ttl=1 d",)
_ASYNC = ("table.exec.async-state.enabled=true",)
_MULTI_JOIN = "table.optimizer.multi-join.enabled=true"
_RESOLVE = "table.optimizer.non-deterministic-update.strategy=TRY_RESOLVE"
_MATERIALIZE = "table.exec.sink.upsert-materialize=FORCE"
_STRATEGY = "table.exec.sink.upsert-materialize-strategy.type"
GROUPS = {
    "plain": Group({**DEDUPLICATED, **RANKED, **JOINED, **WINDOWED, **OTHERS}, since="1.20.5"),
    "mini_batch": Group(
        {**DEDUPLICATED, "join": JOINED["join"]}, _MINI_BATCH, begins_to_expire=False
    ),
    "others": Group({**VERSIONED, **LOOKED_UP, **MATERIALIZED}, (_MATERIALIZE, _RESOLVE)),
    # A heap doesn't find its own rows by their numbers after a restore.
    "not_by_time": Group({**NOT_BY_TIME, **MULTIPLE}, (_MULTI_JOIN,), backend="rocksdb"),
    "async": Group({**DEDUPLICATED, **RANKED, **JOINED}, _ASYNC, begins_to_expire=False),
    "adaptive": Group(MATERIALIZED, (_MATERIALIZE, f"{_STRATEGY}=ADAPTIVE")),
    "map": Group(MATERIALIZED, (_MATERIALIZE, f"{_STRATEGY}=MAP"), begins_to_expire=False),
}
