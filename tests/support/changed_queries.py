"""Changes of queries in SQL, and what becomes of their state; the rows that the queries read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from support.query_jobs import Statements

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 240
TWO_PHASE = (
    "table.exec.mini-batch.enabled=true",
    "table.exec.mini-batch.allow-latency=1 s",
    "table.exec.mini-batch.size=10",
    "table.optimizer.agg-phase-strategy=TWO_PHASE",
)
MATERIALIZED = ("table.exec.sink.upsert-materialize=FORCE",)
TTL = ("table.exec.state.ttl=1 d",)


def _tables(folder: Path, qty: str, price: str) -> list[str]:
    times = "ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
    columns = {
        "orders": f"id BIGINT, customer STRING, {price} DOUBLE, qty {qty}, {times}",
        "customers": f"name STRING, city STRING, rank INT, {times}",
        "rates": "currency STRING, rate BIGINT, note STRING, PRIMARY KEY (currency) NOT ENFORCED",
    }
    upserts = {"rates": ", 'upserts' = 'true'"}
    return [
        f"CREATE TABLE {name} ({text.replace('rank', '`rank`')}) WITH ('connector' = 'rows',"
        f" 'path' = '{folder / name}'{upserts.get(name, '')})"
        for name, text in columns.items()
    ]


def _time(second: int) -> str:
    return f"2024-01-01T00:{second // 60:02}:{second % 60:02}"


def write_rows(folder: Path) -> None:
    """Rows of a join differ in columns that only some queries have."""
    orders = (
        f"+I|{i % 35}|c{i % 7}|{(i * 37) % 101 + 0.5}|{i % 4}|{_time(i)}" for i in range(ROWS)
    )
    customers = (f"+I|c{i % 9}|t{i % 3}|{i}|{_time(i * 9)}" for i in range(26))
    rates = (f"+U|r{i % 5}|{i}|n{i % 3}" for i in range(60))
    for name, lines in (("orders", orders), ("customers", customers), ("rates", rates)):
        (folder / name).write_text("\n".join(lines))


@dataclass(frozen=True)
class Query:
    """A query, the columns of its sink, and options of the planner."""

    text: str
    columns: str
    options: tuple[str, ...] = ()
    qty: str = "INT"
    price: str = "price"

    def statements(self, folder: Path) -> Statements:
        sink = f"CREATE TABLE results ({self.columns}) WITH ('connector' = 'rows')"
        tables = [*_tables(folder, self.qty, self.price), sink]
        sources = 2 if "JOIN" in self.text else 1
        return Statements(tables, [f"INSERT INTO results {self.text}"], self.options, sources)


def _groups(items: str, by: str = "customer", table: str = "orders") -> str:
    return f"SELECT {items} FROM {table} GROUP BY {by}"


def _ranked(columns: str, order: str, last: int, by: str) -> str:
    number = f"ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY {order})"
    return f"SELECT {columns} FROM (SELECT *, {number} AS r FROM orders) WHERE r <= {last}"


def _window(aggregates: str) -> str:
    window = "TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"
    return f"SELECT customer, window_start, {aggregates} FROM {window} GROUP BY customer, window_start, window_end"


def _join(columns: str, kind: str = "", condition: str = "") -> str:
    return (
        f"SELECT {columns} FROM orders o {kind} JOIN customers c ON o.customer = c.name {condition}"
    )


def _levels(aggregates: str) -> str:
    counts = _groups("customer, COUNT(*) AS n")
    return f"SELECT CHAR_LENGTH(customer) AS k, {aggregates} FROM ({counts}) GROUP BY CHAR_LENGTH(customer)"


COUNT = _groups("customer, COUNT(*) AS n")
CN = "c STRING, n BIGINT"
TW = "c STRING, w TIMESTAMP(3)"
BETWEEN = "AND o.ts BETWEEN c.ts - INTERVAL '30' SECOND AND c.ts + INTERVAL '30' SECOND"
_VALUES = _groups(
    "customer, SUM(qty) AS s, MIN(qty) AS a, MAX(qty) AS b, FIRST_VALUE(qty) AS f,"
    " LAST_VALUE(qty) AS l"
)
_OF_VALUES = "c STRING, s {0}, a {0}, b {0}, f {0}, l {0}"
_WIDENED = _groups("customer, SUM(qty) AS s, MIN(qty) AS a, MAX(qty) AS b")
_OF_WIDENED = "c STRING, s {0}, a {0}, b {0}"
_OVER_QTY = (
    "SELECT qty, customer, SUM(price) OVER (PARTITION BY customer ORDER BY ts) AS s FROM orders"
)
QUERIES = {
    "count": Query(COUNT, CN),
    "count_alias": Query(COUNT.replace("AS n", "AS number_of_orders"), CN),
    "count_sum": Query(_groups("customer, COUNT(*) AS n, SUM(price) AS total"), f"{CN}, t DOUBLE"),
    "sum_count": Query(
        _groups("customer, SUM(price) AS total, COUNT(*) AS n"), "c STRING, t DOUBLE, n BIGINT"
    ),
    "count_avg": Query(
        _groups(
            "customer, COUNT(*) AS n, AVG(qty) AS a, MAX(customer) AS m, LISTAGG(customer) AS l"
        ),
        f"{CN}, a INT, m STRING, l STRING",
    ),
    "values": Query(_VALUES, _OF_VALUES.format("INT"), qty="INT NOT NULL"),
    "values_null": Query(_VALUES, _OF_VALUES.format("INT")),
    "values_wide": Query(_WIDENED, _OF_WIDENED.format("BIGINT"), qty="BIGINT"),
    "values_int": Query(_WIDENED, _OF_WIDENED.format("INT")),
    "decimals": Query(_WIDENED, _OF_WIDENED.format("DECIMAL(38, 2)"), qty="DECIMAL(6, 2)"),
    "decimals_wide": Query(_WIDENED, _OF_WIDENED.format("DECIMAL(38, 2)"), qty="DECIMAL(9, 2)"),
    "top_cost": Query(
        _ranked("customer, cost", "cost DESC", 3, "customer"), "c STRING, p DOUBLE", price="cost"
    ),
    "join_keys": Query(
        _join("o.id, c.city", condition="AND o.qty = c.`rank`"), "i BIGINT, t STRING"
    ),
    "join_keys_swapped": Query(
        _join("o.id, c.city").replace("ON ", "ON o.qty = c.`rank` AND "), "i BIGINT, t STRING"
    ),
    "count_where": Query(_groups("customer, COUNT(*) AS n", table="orders WHERE qty > 1"), CN),
    "count_ttl": Query(COUNT, CN, TTL),
    "count_two_phase": Query(COUNT, CN, TWO_PHASE),
    "by_two": Query(
        _groups("customer, qty, COUNT(*) AS n", "customer, qty"), "c STRING, q INT, n BIGINT"
    ),
    "by_two_swapped": Query(
        _groups("customer, qty, COUNT(*) AS n", "qty, customer"), "c STRING, q INT, n BIGINT"
    ),
    "distinct": Query(
        _groups("customer, COUNT(DISTINCT id) AS i, COUNT(DISTINCT qty) AS q"),
        "c STRING, i BIGINT, q BIGINT",
    ),
    "distinct_swapped": Query(
        _groups("customer, COUNT(DISTINCT qty) AS q, SUM(price) AS s, COUNT(DISTINCT id) AS i"),
        "c STRING, q BIGINT, s DOUBLE, i BIGINT",
    ),
    "count_distinct": Query(
        _groups("customer, COUNT(*) AS n, COUNT(DISTINCT id) AS i"), f"{CN}, i BIGINT"
    ),
    "levels": Query(
        _levels("COUNT(*) AS c, MIN(n) AS a, MAX(n) AS b"), "k INT, c BIGINT, a BIGINT, b BIGINT"
    ),
    "levels_swapped": Query(_levels("MAX(n) AS b, SUM(n) AS s"), "k INT, b BIGINT, s BIGINT"),
    "levels_max": Query(
        _levels("SUM(n) AS s, MAX(n) AS b, MIN(n) AS a"), "k INT, s BIGINT, b BIGINT, a BIGINT"
    ),
    "levels_counted": Query(_levels("MAX(n) AS b, COUNT(*) AS c"), "k INT, b BIGINT, c BIGINT"),
    "join": Query(_join("o.id, o.customer, c.city"), "i BIGINT, c STRING, t STRING"),
    "join_price": Query(
        _join("o.id, o.customer, c.city, o.price"), "i BIGINT, c STRING, t STRING, p DOUBLE"
    ),
    "join_rank": Query(_join("c.`rank`, o.id, o.qty, c.city"), "r INT, i BIGINT, q INT, t STRING"),
    "left_join": Query(
        _join("o.id, o.qty, c.city, c.`rank`", "LEFT"), "i BIGINT, q INT, t STRING, r INT"
    ),
    "left_join_less": Query(_join("c.city, o.id", "LEFT"), "t STRING, i BIGINT"),
    "interval": Query(_join("o.id, c.city", condition=BETWEEN), "i BIGINT, t STRING"),
    "interval_qty": Query(
        _join("o.qty, o.id, c.city", condition=BETWEEN), "q INT, i BIGINT, t STRING"
    ),
    "first": Query(_ranked("id, customer", "ts ASC", 1, "id"), "i BIGINT, c STRING"),
    "last": Query(_ranked("id, customer", "ts DESC", 1, "id"), "i BIGINT, c STRING"),
    "last_price": Query(
        _ranked("id, price, customer", "ts DESC", 1, "id"), "i BIGINT, p DOUBLE, c STRING"
    ),
    "last_qty": Query(
        _ranked("id, qty, customer", "ts DESC", 1, "id"), "i BIGINT, q INT, c STRING"
    ),
    "last_wide": Query(
        _ranked("id, qty, customer", "ts DESC", 1, "id"),
        "i BIGINT, q BIGINT, c STRING",
        qty="BIGINT",
    ),
    "top": Query(_ranked("customer, price", "price DESC", 3, "customer"), "c STRING, p DOUBLE"),
    "top_qty": Query(
        _ranked("customer, price, qty", "price DESC", 3, "customer"), "c STRING, p DOUBLE, q INT"
    ),
    "window": Query(_window("COUNT(*) AS n"), f"{TW}, n BIGINT"),
    "window_sum": Query(_window("SUM(price) AS total, COUNT(*) AS n"), f"{TW}, t DOUBLE, n BIGINT"),
    "over": Query(
        "SELECT customer, SUM(price) OVER (PARTITION BY customer ORDER BY ts) AS s FROM orders",
        "c STRING, s DOUBLE",
    ),
    "over_id": Query(
        "SELECT id, customer, SUM(price) OVER (PARTITION BY customer ORDER BY ts) AS s FROM orders",
        "i BIGINT, c STRING, s DOUBLE",
    ),
    # The planner casts in front of the operator.
    "over_cast": Query(_OVER_QTY, "q BIGINT, c STRING, s DOUBLE"),
    "over_wide": Query(_OVER_QTY, "q BIGINT, c STRING, s DOUBLE", qty="BIGINT"),
    "rates": Query("SELECT currency, rate FROM rates", "c STRING, r BIGINT"),
    "rates_note": Query("SELECT note, currency, rate FROM rates", "n STRING, c STRING, r BIGINT"),
    "materialized": Query(
        _join("o.id, c.city"), "i BIGINT, t STRING, PRIMARY KEY (i) NOT ENFORCED", MATERIALIZED
    ),
    "materialized_qty": Query(
        _join("o.id, o.qty, c.city"),
        "i BIGINT, q INT, t STRING, PRIMARY KEY (i) NOT ENFORCED",
        MATERIALIZED,
    ),
}


@dataclass(frozen=True)
class Pair:
    """A change of a query.

    Attributes:
        kind: Kind of the operator in question.
        verdict: What becomes of its state.
        kept: Columns of plan B whose values don't depend on what only it reads; all by default.
        since: Columns that count since the migration.
        accept: Names of what begins empty or can't be taken back.
        renames: New names of columns of tables.
    """

    kind: str
    verdict: str
    kept: tuple[int, ...] | None = None
    since: tuple[int, ...] = field(default=())
    accept: tuple[str, ...] = ()
    renames: dict[str, str] = field(default_factory=dict)


PAIRS = {
    ("count", "count_alias"): Pair("GroupAggregate", "renamed"),
    ("count", "count_sum"): Pair("GroupAggregate", "carried over", (0, 1), (2,), ("total",)),
    ("count_sum", "count"): Pair("GroupAggregate", "carried over"),
    ("count_sum", "sum_count"): Pair("GroupAggregate", "carried over"),
    ("count", "count_avg"): Pair(
        "GroupAggregate", "carried over", (0, 1), (2, 3, 4), ("a", "m", "l")
    ),
    ("count", "count_ttl"): Pair("GroupAggregate", "carried over"),
    ("count_ttl", "count"): Pair("GroupAggregate", "carried over"),
    ("count", "count_two_phase"): Pair("GlobalGroupAggregate", "renamed"),
    ("by_two", "by_two_swapped"): Pair("GroupAggregate", "carried over"),
    ("distinct", "distinct_swapped"): Pair(
        "GroupAggregate", "carried over", (0, 1, 3), (2,), ("s",)
    ),
    ("count", "count_distinct"): Pair("GroupAggregate", "carried over", (0, 1), (2,), ("i",)),
    ("levels_max", "levels_swapped"): Pair("GroupAggregate", "carried over"),
    ("levels", "levels_counted"): Pair("GroupAggregate", "carried over"),
    ("join", "join_price"): Pair("Join", "carried over", (0, 1, 2), accept=("price",)),
    ("join_price", "join"): Pair("Join", "carried over"),
    ("join_rank", "join"): Pair("Join", "carried over"),
    ("left_join", "left_join_less"): Pair("Join", "carried over"),
    ("interval", "interval_qty"): Pair("IntervalJoin", "carried over", (1, 2)),
    ("interval_qty", "interval"): Pair("IntervalJoin", "carried over"),
    ("last", "last_price"): Pair("Deduplicate", "carried over", (0, 2)),
    ("last_price", "last"): Pair("Deduplicate", "carried over"),
    ("last_qty", "last_wide"): Pair("Deduplicate", "carried over"),
    ("top_qty", "top"): Pair("Rank", "carried over"),
    ("top", "top_qty"): Pair("Rank", "carried over", (0, 1)),
    ("window", "window_sum"): Pair(
        "GlobalWindowAggregate", "carried over", (0, 1, 3), accept=("total",)
    ),
    ("window_sum", "window"): Pair("GlobalWindowAggregate", "carried over"),
    ("over", "over_id"): Pair("OverAggregate", "carried over", (1, 2)),
    ("over_id", "over"): Pair("OverAggregate", "carried over"),
    ("over_cast", "over_wide"): Pair("OverAggregate", "carried over"),
    ("values", "values_null"): Pair("GroupAggregate", "renamed"),
    ("values_int", "values_wide"): Pair("GroupAggregate", "carried over"),
    ("decimals", "decimals_wide"): Pair("GroupAggregate", "carried over"),
    ("top", "top_cost"): Pair("Rank", "renamed", renames={"orders.price": "cost"}),
    ("join_keys", "join_keys_swapped"): Pair("Join", "carried over"),
    ("rates", "rates_note"): Pair("ChangelogNormalize", "carried over", (1, 2)),
    ("rates_note", "rates"): Pair("ChangelogNormalize", "carried over"),
    ("materialized", "materialized_qty"): Pair("Sink", "carried over", (0, 2), accept=("qty",)),
}
"""Old and new query -> what is expected."""
