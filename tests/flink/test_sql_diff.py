"""Plans that a real planner compiles are compared: pairs of queries, and what becomes of their state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from state_processor import SqlChange, sql_diff

if TYPE_CHECKING:
    from pathlib import Path

    from support.query_jobs import QueryServers

pytestmark = pytest.mark.flink

ORDERS = (
    "CREATE TABLE orders (id BIGINT, customer STRING, price DOUBLE, qty INT, ts TIMESTAMP(3),"
    " WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'datagen')"
)
CUSTOMERS = (
    "CREATE TABLE customers (name STRING, city STRING, PRIMARY KEY (name) NOT ENFORCED)"
    " WITH ('connector' = 'datagen')"
)
COUNT = "SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer"
TWO_PHASE = (
    "table.exec.mini-batch.enabled=true",
    "table.exec.mini-batch.allow-latency=1 s",
    "table.exec.mini-batch.size=10",
    "table.optimizer.agg-phase-strategy=TWO_PHASE",
)


TYPES = {"n": "BIGINT", "id": "BIGINT", "price": "DOUBLE", "total": "DOUBLE"}


def _sink(query: str) -> str:
    """The table of a query's results: a column per item, with its last word as the name."""
    items = query.partition(" FROM ")[0].removeprefix("SELECT ").split(", ")
    names = [item.split()[-1].split(".")[-1].strip("()") for item in items]
    columns = ", ".join(
        f"c{number} {TYPES.get(name, 'BIGINT' if 'COUNT' in item else 'STRING')}"
        for number, (name, item) in enumerate(zip(names, items, strict=True))
    )
    return f"CREATE TABLE results ({columns}) WITH ('connector' = 'print')"


def _first(columns: str, order: str = "ts ASC", last: int = 1, by: str = "id") -> str:
    number = f"ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY {order})"
    return f"SELECT {columns} FROM (SELECT *, {number} AS r FROM orders) WHERE r <= {last}"


def _window(size: str, aggregates: str) -> str:
    window = f"TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '{size}' MINUTE))"
    return (
        f"SELECT customer, {aggregates} FROM {window} GROUP BY customer, window_start, window_end"
    )


def _join(columns: str, kind: str = "", condition: str = "") -> str:
    tables = f"orders o {kind} JOIN customers c ON o.customer = c.name {condition}"
    return f"SELECT {columns} FROM {tables}"


QUERIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "count": (COUNT, ()),
    "count_again": (COUNT, ()),
    "count_alias": (COUNT.replace(" n ", " number_of_orders "), ()),
    "count_sum": (COUNT.replace("AS n", "AS n, SUM(price) AS total"), ()),
    "sum_count": (COUNT.replace("COUNT(*) AS n", "SUM(price) AS total, COUNT(*) AS n"), ()),
    "count_where": (COUNT.replace("GROUP", "WHERE price > 10 GROUP"), ()),
    "count_by_id": (COUNT.replace("customer", "id"), ()),
    "count_ttl": (COUNT, ("table.exec.state.ttl=1 d",)),
    "count_two_phase": (COUNT, TWO_PHASE),
    "count_distinct": (COUNT.replace("*", "DISTINCT id"), ()),
    "count_more_than_3": (f"SELECT UPPER(customer), n FROM ({COUNT}) WHERE n > 3", ()),
    "by_two": ("SELECT customer, id, COUNT(*) AS n FROM orders GROUP BY customer, id", ()),
    "by_two_swapped": ("SELECT customer, id, COUNT(*) AS n FROM orders GROUP BY id, customer", ()),
    "join": (_join("o.id, o.customer, c.city"), ()),
    "join_price": (_join("o.id, o.price, o.customer, c.city"), ()),
    "join_left": (_join("o.id, o.customer, c.city", "LEFT"), ()),
    "join_some": (_join("o.id, o.customer, c.city", condition="AND o.price > 3"), ()),
    "first": (_first("id, customer"), ()),
    "first_price": (_first("id, price, customer"), ()),
    "last": (_first("id, customer", "ts DESC"), ()),
    "top": (_first("id, price", "price DESC", 3, "customer"), ()),
    "top_5": (_first("id, price", "price DESC", 5, "customer"), ()),
    "window": (_window("1", "COUNT(*) AS n"), ()),
    "window_sum": (_window("1", "COUNT(*) AS n, SUM(price) AS total"), ()),
    "window_5": (_window("5", "COUNT(*) AS n"), ()),
}

PAIRS = {
    ("count", "count_again"): ("group-aggregate", "renamed", "its uid is"),
    ("count", "count_alias"): ("group-aggregate", "renamed", "its uid is"),
    ("count", "count_sum"): ("group-aggregate", "carried over", "total = SUM(price) is new"),
    ("count_sum", "count"): ("group-aggregate", "carried over", "total = SUM(price) is gone"),
    ("count_sum", "sum_count"): ("group-aggregate", "carried over", "in another order"),
    ("count", "count_where"): ("group-aggregate", "rebuilt", "its input has other rows"),
    ("count", "count_by_id"): ("group-aggregate", "rebuilt", "it groups by other columns"),
    ("count", "count_ttl"): ("group-aggregate", "carried over", "values live"),
    ("count", "count_two_phase"): ("global-group-aggregate", "renamed", "its uid is"),
    ("count", "count_distinct"): ("group-aggregate", "rebuilt", "none of its aggregates is kept"),
    ("count", "count_more_than_3"): ("group-aggregate", "renamed", "its uid is"),
    ("by_two", "by_two_swapped"): ("group-aggregate", "carried over", "new key groups"),
    ("join", "join_price"): ("join", "carried over", "column price is new: null in old rows"),
    ("join_price", "join"): ("join", "carried over", "column price is gone"),
    ("join", "join_left"): ("join", "rebuilt", "it computes something else"),
    ("join", "join_some"): ("join", "rebuilt", "its input has other rows"),
    ("first", "first_price"): ("deduplicate", "carried over", "column price is new"),
    ("first", "last"): ("deduplicate", "rebuilt", "it computes something else"),
    ("top", "top_5"): ("rank", "rebuilt", "it computes something else"),
    ("window", "window_sum"): ("window-aggregate", "carried over", "SUM(price) is new"),
    ("window", "window_5"): ("window-aggregate", "rebuilt", "it computes something else"),
}
"""Old and new query -> the operator with state, its verdict, and words of the reason."""


@pytest.fixture(scope="module", params=["1.20.5", "2.3.0"])
def plans(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    query_servers: QueryServers,
) -> Path:
    folder = tmp_path_factory.mktemp("plans")
    for name, (query, options) in QUERIES.items():
        (folder / "queries" / name).mkdir(parents=True)
        files = {
            "tables.sql": f"{ORDERS}\n{CUSTOMERS}\n{_sink(query)}",
            "options": "\n".join(options),
            "query.sql": f"INSERT INTO results {query}",
        }
        for file, text in files.items():
            (folder / "queries" / name / file).write_text(text)
    query_servers.of(request.param).compile(folder / "queries")
    return folder / "queries"


def changes(plans: Path, old: str, new: str) -> list[SqlChange]:
    return sql_diff(plans / old / "plan.json", plans / new / "plan.json")


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_the_verdict_of_an_operator(plans: Path, old: str, new: str) -> None:
    kind, verdict, words = PAIRS[old, new]
    (change,) = (
        change
        for change in changes(plans, old, new)
        if not change.description.startswith(("TableSourceScan", "Sink"))
    )
    assert (change.verdict, words in change.reason) == (verdict, True), change.reason
    named = kind.title().replace("-", "")
    assert change.description.startswith((named, f"Global{named}"))


def test_a_plan_is_the_same_as_itself(plans: Path) -> None:
    for name in QUERIES:
        assert {change.verdict for change in changes(plans, name, name)} == {"same"}


def test_a_table_that_the_query_no_longer_reads_is_lost(plans: Path) -> None:
    verdicts = {
        (change.verdict, change.description.partition("(")[0])
        for change in changes(plans, "join", "count")
    }
    assert verdicts == {
        ("renamed", "TableSourceScan"),
        ("lost", "TableSourceScan"),
        ("lost", "Join"),
        ("renamed", "Sink"),
        ("rebuilt", "GroupAggregate"),
    }
