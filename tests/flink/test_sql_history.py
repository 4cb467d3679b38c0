"""State of SQL operators that is made of history equals that of a job that has read it, and goes on."""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from flink_home import FlinkHome
from pyspark.sql import functions as F
from support.history_queries import QUERIES, REFUSED, WATERMARK, Halves, write_queries
from support.nightly import nightly

from savepoint_extensions.sql_jobs.planned_operators import compiled_plan
from savepoint_formats.snapshots.nested import snapshot_bytes
from savepoint_spark.writing.stored_types import StoredTypes
from state_processor import OperatorTransformation, PlanError, Savepoint

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_extensions.sql_jobs.plans.compiled_plan import CompiledPlan, PlanNode
    from state_processor import SqlHistory, SqlOperator

pytestmark = pytest.mark.flink

OPTIONS = {
    "1.20.5": ("table.optimizer.agg-phase-strategy=ONE_PHASE",),
    "2.2.1": (),
}
"""Release -> options of its plan. By default windows are aggregated in two phases."""

STATEFUL = {
    "group-aggregate",
    "deduplicate",
    "rank",
    "join",
    "changelog-normalize",
    "window-aggregate",
    "global-window-aggregate",
    "over-aggregate",
}
ORDERS = (
    "id BIGINT, customer STRING, product STRING, price DOUBLE, qty INT, amount DECIMAL(10, 2),"
    " ts TIMESTAMP_NTZ, place INT"
)
ACCOUNTS = "id BIGINT, owner STRING, balance INT, note STRING, kind STRING, place INT"
COMPUTED = {
    ("filters", "$f2"): "qty > 2",
    ("filters", "$f3"): "price > 5",
    ("filters", "$f5"): "qty > 3",
    ("collected", "$f3"): "'-'",
    ("collected", "$f4"): "qty * qty",
    ("taken_back", "$f2"): "id > 3",
}
"""Columns that the planner adds in front of an aggregation."""


@dataclass(frozen=True, slots=True)
class Run:
    """A job's savepoint behind the first half, and one that was made of its rows.

    ``made`` has the uids of each query's operators, ``printed`` the rows of each step and query.
    """

    taken: Savepoint
    written: Savepoint
    made: dict[str, list[str]]
    printed: dict[str, Counter[str]]


@pytest.fixture(scope="module", params=[pytest.param("1.20.5", marks=nightly), "2.2.1"])
def run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> Run:
    folder = tmp_path_factory.mktemp("history")
    halves = Halves.of(seed=3)
    halves.write(folder)
    write_queries(folder, OPTIONS[request.param])
    home = FlinkHome.cached(request.param)
    home.install()
    classes = home.compiled([Path(__file__).parent / "history_job"])
    java = home.java(classes, ["-Xmx1200m", f"-Djava.io.tmpdir={folder}"])

    def flink(*steps: str) -> list[str]:
        command = [*java, "plans.HistoryJobs", str(folder), *steps]
        return subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True
        ).stdout.splitlines()

    lines = flink("compile", "savepoint:first", "run:all")
    (path,) = (line.split()[1] for line in lines if line.startswith("savepoint "))
    plan = folder / "plan.json"
    parsed = compiled_plan(plan)
    writer, orders = Savepoint.create(spark), orders_of(spark, halves)
    made: dict[str, list[str]] = {name: [] for name in QUERIES}
    for name, node in stateful_nodes(parsed):
        operator = OperatorTransformation.for_plan(plan, node.id)
        if name in REFUSED and operator.uid.endswith(("_rank", "_over-aggregate")):
            with pytest.raises(PlanError, match=REFUSED[name]):
                state_of(operator, name, request.param, orders, halves)
        elif operator.uid not in {uid for uids in made.values() for uid in uids}:
            writer = writer.with_operator(
                operator.uid, state_of(operator, name, request.param, orders, halves)
            )
            made[name].append(operator.uid)
    writer.write(str(folder / "made"))
    lines += flink(f"run:second:{(folder / 'made').as_uri()}")
    printed: dict[str, Counter[str]] = {}
    for line in lines:
        step, _, row = line.partition("> ")
        if row:
            printed.setdefault(step, Counter())[row[2:]] += 1 if row[0] == "+" else -1
    return Run(
        Savepoint.open(path.removeprefix("file:"), plan=plan),
        Savepoint.open(folder / "made", plan=plan),
        made,
        printed,
    )


def stateful_nodes(plan: CompiledPlan) -> Iterator[tuple[str, PlanNode]]:
    """Operators of each query with state, which history can make or is refused to."""
    for sink in plan.nodes.values():
        if sink.kind != "sink":
            continue
        name = sink.description.partition("to_")[2].partition(",")[0].rstrip("]")
        if sink.spec.get("requireUpsertMaterialize"):
            yield name, sink
        waiting = list(sink.inputs)
        while waiting:
            node = plan.nodes[waiting.pop()]
            waiting += node.inputs
            if node.kind in STATEFUL:
                yield name, node


def orders_of(spark: SparkSession, halves: Halves) -> DataFrame:
    """The orders of the first half, with their place."""
    orders = [
        (
            *(row[name] for name in ("id", "customer", "product", "price", "qty")),
            Decimal(str(row["amount"])),
            datetime.fromisoformat(row["ts"]),
            place,
        )
        for place, row in enumerate(halves.orders[0])
    ]
    data = spark.createDataFrame(orders, ORDERS)
    return data.withColumn("kind", F.lit("+I"))


def changes(halves: Halves, columns: Collection[str]) -> list[tuple[Any, ...]]:
    """Changes of the first half; without those that change none of some columns, if there are any.

    A normalised changelog doesn't pass them on since Flink 2.
    """
    rows = []
    for place, change in enumerate(halves.accounts[0]):
        before, after = change["before"], change["after"]
        if columns and before and after and all(before[name] == after[name] for name in columns):
            continue
        if before:
            rows.append((*before.values(), "-U" if after else "-D", 2 * place))
        if after:
            rows.append((*after.values(), "+U" if before else "+I", 2 * place + 1))
    return rows


def state_of(
    operator: SqlOperator, name: str, flink: str, orders: DataFrame, halves: Halves
) -> SqlHistory:
    """The operator's state behind the first half."""
    spark = orders.sparkSession
    of_accounts = [bool({"owner", "balance", "note"} & set(names)) for names in operator.inputs]
    history = []
    for names, is_changelog in zip(operator.inputs, of_accounts, strict=True):
        of_table = {"id", *names} & {"id", "owner", "balance", "note"}
        columns = set() if flink.startswith("1.") else of_table
        data = spark.createDataFrame(changes(halves, columns), ACCOUNTS) if is_changelog else orders
        if name == "top_updated" and "n" in names:
            counted = F.count(F.lit(1)).alias("n"), F.max("place").alias("place")
            data = data.groupBy("customer", "product").agg(*counted)
        for column in names:
            if (name, column) in COMPUTED:
                made = F.expr(COMPUTED[name, column])
                is_flag = dict(data.withColumn(column, made).dtypes)[column] == "boolean"
                data = data.withColumn(column, F.coalesce(made, F.lit(False)) if is_flag else made)
        history.append(data)
    return operator.bootstrap_with(
        *history,
        row_kind="kind" if any(of_accounts) else None,
        order_by="place",
        watermark=WATERMARK,
    )


@pytest.mark.parametrize("name", [name for name in QUERIES if name not in REFUSED])
def test_the_state_is_that_of_a_job_that_read_the_rows(run: Run, name: str) -> None:
    for uid in run.made[name]:
        if name != "top_numbered":  # Flink keeps some rows behind the last one for a while
            assert state_rows(run.written, uid) == state_rows(run.taken, uid)
        assert serializers(run.written, uid) == serializers(run.taken, uid)


@pytest.mark.parametrize("name", [name for name in QUERIES if name not in REFUSED])
def test_a_job_goes_on_from_history(run: Run, name: str) -> None:
    printed = run.printed
    together = Counter(printed.get(f"first/{name}", Counter()))
    together.update(printed.get(f"second/{name}", Counter()))
    assert nonzero(together) == nonzero(printed[f"all/{name}"])
    assert f"second/{name}" in printed


def nonzero(rows: Counter[str]) -> dict[str, int]:
    return {row: count for row, count in rows.items() if count}


def state_rows(savepoint: Savepoint, uid: str) -> dict[str, Any]:
    """Values by table, key, window and time of a timer."""
    found: dict[str, Any] = {}
    for table in savepoint.tables():
        if not table.table.startswith(f"{uid}."):
            continue
        for batch in savepoint.scan(table.table).batches():
            for row in batch.to_pylist():
                place = [row.get(name) for name in ("key", "namespace", "timestamp")]
                # Flink may keep an empty map of a key.
                there = {name: it for name, it in row.items() if it is not None and it != []}
                if set(there) - {"key"}:
                    found[repr([table.sql, compared(place)])] = compared(there)
    return found


def compared(value: Any) -> Any:
    """A value without the kind of rows, which Flink ignores, and times of the clock."""
    match value:
        case dict():
            left_out = ("$row_kind", "firstOrder")
            return {name: compared(it) for name, it in value.items() if name not in left_out}
        case [tuple(), *_]:  # the entries of a map
            return sorted(repr(compared(list(entry))) for entry in value)
        case list() | tuple():
            return [compared(item) for item in value]
        case _:
            return value


def serializers(savepoint: Savepoint, uid: str) -> dict[str, bytes]:
    types = StoredTypes.of(savepoint.operator(uid))
    named = {
        f"{info.name} {kind}": snapshot_bytes(entry)
        for info in types.states
        for kind, entry in info.serializers
        if info.name != "sorted-map"  # it holds code of the planner
    }
    return {**named, "key": snapshot_bytes(types.key)}
