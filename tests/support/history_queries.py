"""Queries over two tables, one of them a changelog, and the rows of both halves of their input."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

START = datetime(2026, 1, 1)
STEP_SECONDS, ROWS = 7, 24
WATERMARK = START + timedelta(seconds=STEP_SECONDS * (ROWS - 1) - 5)
"""The watermark behind the first half."""

_FILES = "WITH ('connector' = 'filesystem', 'path' = 'ROWS/{}', 'format' = '{}'WATCHED)"
_TABLES = [
    "CREATE TABLE orders (id BIGINT, customer STRING, product STRING, price DOUBLE, qty INT,"
    " amount DECIMAL(10, 2), ts TIMESTAMP(3), proc AS PROCTIME(),"
    " WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) " + _FILES.format("orders", "json"),
    "CREATE TABLE accounts (id BIGINT, owner STRING, balance INT, note STRING,"
    " PRIMARY KEY (id) NOT ENFORCED) " + _FILES.format("accounts", "debezium-json"),
]
_OPTIONS = (
    "table.exec.source.cdc-events-duplicate=true",
    "table.local-time-zone=UTC",
    "table.plan.restore.catalog-objects=IDENTIFIER",
)
_OVER = "id BIGINT, customer STRING, total DOUBLE, n BIGINT"


def _numbered(
    columns: str, order: str, last: str, rows: str = "orders", by: str = "customer"
) -> str:
    number = f"ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY {order})"
    return f"SELECT {columns} FROM (SELECT *, {number} AS r FROM {rows}) WHERE r {last}"


def _window(table: str, results: str) -> str:
    windows = f"TABLE({table.replace('(', '(TABLE orders, DESCRIPTOR(ts), ', 1)})"
    return (
        f"SELECT customer, window_start, {results} FROM {windows}"
        " GROUP BY customer, window_start, window_end"
    )


def _over(order: str, frame: str) -> str:
    return (
        "SELECT id, customer, SUM(price) OVER w, COUNT(*) OVER w FROM orders"
        f" WINDOW w AS (PARTITION BY customer ORDER BY {order} {frame} AND CURRENT ROW)"
    )


_N_PER_PRODUCT = "(SELECT customer, product, COUNT(*) AS n FROM orders GROUP BY customer, product)"
QUERIES: dict[str, tuple[str, str]] = {
    "aggregates": (
        (
            "customer STRING, a BIGINT, b DOUBLE, c DECIMAL(38, 2), d INT, e DECIMAL(38, 6), f DOUBLE,"
            " g INT, h BIGINT, i INT, j STRING, k STRING, l STRING"
        ),
        (
            "SELECT customer, COUNT(*), SUM(price), SUM(amount), AVG(qty), AVG(amount), MIN(price),"
            " MAX(qty), COUNT(DISTINCT product), SUM(DISTINCT qty), FIRST_VALUE(product),"
            " LAST_VALUE(product), LISTAGG(product) FROM orders GROUP BY customer"
        ),
    ),
    "filters": (
        "customer STRING, a BIGINT, b BIGINT, c BIGINT, d BIGINT",
        (
            "SELECT customer, COUNT(DISTINCT product), COUNT(DISTINCT product) FILTER (WHERE qty > 2),"
            " COUNT(DISTINCT product) FILTER (WHERE price > 5), COUNT(qty) FILTER (WHERE qty > 3)"
            " FROM orders GROUP BY customer"
        ),
    ),
    "collected": (
        "customer STRING, a DOUBLE, b STRING, c MULTISET<STRING>",
        (
            "SELECT customer, STDDEV_POP(qty), LISTAGG(product, '-'), COLLECT(product) FROM orders"
            " GROUP BY customer"
        ),
    ),
    "taken_back": (
        "owner STRING, a BIGINT, b INT, c INT, d INT, e INT, f BIGINT, g BIGINT",
        (
            "SELECT owner, COUNT(*), SUM(balance), AVG(balance), MIN(balance), MAX(balance),"
            " COUNT(DISTINCT balance), COUNT(DISTINCT balance) FILTER (WHERE id > 3) FROM accounts"
            " GROUP BY owner"
        ),
    ),
    "uncounted": (
        "owner STRING, a INT, b STRING",
        "SELECT owner, SUM(balance), MAX(note) FROM accounts GROUP BY owner",
    ),
    "no_key": ("a BIGINT, b DOUBLE", "SELECT COUNT(*), SUM(price) FROM orders"),
    "first": (
        "id BIGINT, customer STRING, price DOUBLE, ts TIMESTAMP(3)",
        _numbered("id, customer, price, ts", "ts ASC", "= 1"),
    ),
    "last": (
        "id BIGINT, customer STRING, price DOUBLE, ts TIMESTAMP(3)",
        _numbered("id, customer, price, ts", "ts DESC", "= 1"),
    ),
    "first_to_come": (
        "id BIGINT, customer STRING",
        _numbered("id, customer", "proc ASC", "= 1"),
    ),
    "last_to_come": (
        "id BIGINT, customer STRING",
        _numbered("id, customer", "proc DESC", "= 1"),
    ),
    "top": (
        "id BIGINT, customer STRING, qty INT",
        _numbered("id, customer, qty", "qty DESC", "<= 2"),
    ),
    "top_numbered": (
        "id BIGINT, customer STRING, qty INT, r BIGINT",
        _numbered("id, customer, qty, r", "qty DESC", "<= 2"),
    ),
    "top_one": (
        "id BIGINT, customer STRING, qty INT",
        _numbered("id, customer, qty", "qty DESC, id", "= 1"),
    ),
    "top_updated": (
        "customer STRING, product STRING, n BIGINT",
        _numbered("customer, product, n", "n DESC", "<= 2", _N_PER_PRODUCT),
    ),
    "top_taken_back": (
        "id BIGINT, owner STRING, balance INT",
        _numbered("id, owner, balance", "balance DESC", "<= 2", "accounts", "owner"),
    ),
    "join": (
        "id BIGINT, price DOUBLE, note STRING",
        "SELECT o.id, o.price, a.note FROM orders o JOIN accounts a ON o.customer = a.owner",
    ),
    "join_left": (
        "id BIGINT, price DOUBLE, note STRING",
        (
            "SELECT o.id, o.price, a.note FROM orders o"
            " LEFT JOIN (SELECT id, owner, note FROM accounts) a ON o.customer = a.owner"
        ),
    ),
    "join_full": (
        "id BIGINT, price DOUBLE, note STRING",
        "SELECT o.id, o.price, a.note FROM orders o FULL JOIN accounts a ON o.id = a.id",
    ),
    "join_of_keys": (
        "a BIGINT, b BIGINT",
        (
            "SELECT a.id, b.id FROM accounts a LEFT JOIN accounts b"
            " ON a.owner = b.owner AND a.balance = b.balance"
        ),
    ),
    "join_semi": (
        "id BIGINT, price DOUBLE",
        "SELECT o.id, o.price FROM orders o WHERE o.customer IN (SELECT owner FROM accounts)",
    ),
    "normalized": (
        "id BIGINT, owner STRING, balance INT",
        "SELECT id, owner, balance FROM accounts",
    ),
    "materialized": (
        "owner STRING, id BIGINT, note STRING, PRIMARY KEY (owner) NOT ENFORCED",
        "SELECT owner, id, note FROM accounts",
    ),
    "tumble": (
        "customer STRING, s TIMESTAMP(3), a BIGINT, b DOUBLE, c DOUBLE, d BIGINT",
        _window(
            "TUMBLE(INTERVAL '1' MINUTE)",
            "COUNT(*), SUM(price), AVG(price), COUNT(DISTINCT product)",
        ),
    ),
    "hop": (
        "customer STRING, s TIMESTAMP(3), a DOUBLE",
        _window("HOP(INTERVAL '30' SECOND, INTERVAL '1' MINUTE)", "MAX(price)"),
    ),
    "cumulate": (
        "customer STRING, s TIMESTAMP(3), a BIGINT, b DOUBLE",
        _window("CUMULATE(INTERVAL '30' SECOND, INTERVAL '2' MINUTE)", "COUNT(*), MAX(price)"),
    ),
    "over_times": (_OVER, _over("ts", "RANGE BETWEEN UNBOUNDED PRECEDING")),
    "over_rows": (_OVER, _over("proc", "ROWS BETWEEN UNBOUNDED PRECEDING")),
    "over_last_rows": (_OVER, _over("ts", "ROWS BETWEEN 2 PRECEDING")),
}
"""Name -> columns of the results, and the query."""

REFUSED = {
    "over_last_rows": "only aggregates of all rows up to the current one",
}
"""Queries with an operator whose state can't be made of history, and words of the reason."""


@dataclass(frozen=True, slots=True)
class Halves:
    """Rows of both tables in two halves; those of ``accounts`` are changes."""

    orders: tuple[list[dict[str, Any]], ...]
    accounts: tuple[list[dict[str, Any]], ...]

    @classmethod
    def of(cls, seed: int) -> Halves:
        chosen = random.Random(seed)
        orders = [_order(number, chosen) for number in range(2 * ROWS)]
        changes = _changes(2 * ROWS, chosen)
        return cls((orders[:ROWS], orders[ROWS:]), (changes[:ROWS], changes[ROWS:]))

    def write(self, folder: Path) -> None:
        """Writes the rows for a job as folders ``first``, ``second`` and ``all``."""
        for name, numbers in (("first", (0,)), ("second", (1,)), ("all", (0, 1))):
            for table, halves in (("orders", self.orders), ("accounts", self.accounts)):
                rows = [row for number in numbers for row in halves[number]]
                path = folder / name / table / "rows.json"
                path.parent.mkdir(parents=True)
                path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def write_queries(folder: Path, options: tuple[str, ...]) -> None:
    """Writes what ``HistoryJobs`` reads."""
    sinks = [
        f"CREATE TABLE to_{name} ({columns})"
        f" WITH ('connector' = 'print', 'print-identifier' = 'STEP/{name}')"
        for name, (columns, _) in QUERIES.items()
    ]
    inserts = [f"INSERT INTO to_{name} {query}" for name, (_, query) in QUERIES.items()]
    (folder / "tables.sql").write_text("\n".join([*_TABLES, *sinks]))
    (folder / "queries.sql").write_text("\n".join(inserts))
    (folder / "options").write_text("\n".join([*_OPTIONS, *options]))


def _order(number: int, chosen: random.Random) -> dict[str, Any]:
    time = START + timedelta(seconds=STEP_SECONDS * number)
    late = ["dora", "eve"] if number >= ROWS else []
    return {
        "id": number % 17,
        "customer": chosen.choice(["ann", "bob", "carl", None, *late]),
        "product": chosen.choice(["tea", "coffee", "chocolate milk"]),
        "price": chosen.choice([1.5, 2.25, 6.0, 9.75]) + number / 8,
        "qty": chosen.choice([1, 2, 3, 4, None]),
        "amount": chosen.choice([1.25, 3.5]),
        "ts": f"{time:%Y-%m-%d %H:%M:%S}.000",
    }


def _changes(count: int, chosen: random.Random) -> list[dict[str, Any]]:
    alive: dict[int, dict[str, Any]] = {}
    changes = []
    for _ in range(count):
        number = chosen.randrange(10)
        row = {
            "id": number,
            "owner": chosen.choice(["ann", "bob", "dora"]),
            "balance": chosen.randrange(5) * 10,
            "note": f"note {chosen.randrange(3)} of an account",
        }
        before = alive.pop(number, None)
        if before is not None and chosen.random() < 0.3:
            changes.append({"before": before, "after": None, "op": "d"})
            continue
        alive[number] = row
        changes.append({"before": before, "after": row, "op": "u" if before else "c"})
    return changes
