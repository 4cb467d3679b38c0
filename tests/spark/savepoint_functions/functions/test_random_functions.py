"""All ways to run a function leave what plain dictionaries would hold."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from state_processor import (
    KeyedStateBootstrapFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    ReducingStateDescriptor,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from savepoint_formats.scan.scan import TableScan
    from savepoint_functions.functions.keyed_runtime_context import KeyedRuntimeContext
    from savepoint_functions.functions.process_functions import KeyedContext

BACKENDS = ["single_key", "rocksdb"]


class Step(NamedTuple):
    """Request of a row."""

    does: str
    number: int
    other: int


class Steps(KeyedStateBootstrapFunction):
    """Does what each row asks for."""

    def open(self, runtime_context: KeyedRuntimeContext) -> None:
        long = Types.LONG()
        self.value = runtime_context.get_state(ValueStateDescriptor("value", long))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", long))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", long, long))
        self.sum = runtime_context.get_reducing_state(
            ReducingStateDescriptor("sum", long, lambda one, other: one + other)
        )
        self.windows = runtime_context.get_state(ValueStateDescriptor("windows", long), long)

    def process_element(self, value: Any, context: KeyedContext) -> None:
        number, other = value.number, value.other
        timers = context.timer_service
        match value.does:
            case "update":
                self.value.update(number + (self.value.value() or 0))
            case "add":
                self.list.add(number)
            case "replace":
                self.list.update([*self.list.get()[-2:], number])
            case "put":
                self.map.put(number, (self.map.get(number) or 0) + other)
            case "remove":
                self.map.remove(number)
            case "reduce":
                self.sum.add(number)
            case "window":
                self.windows.set_current_namespace(other)
                self.windows.update((self.windows.value() or 0) + number)
            case "leave":
                self.windows.set_current_namespace(other)
                self.windows.clear()
            case "clear":
                for state in (self.value, self.list, self.map, self.sum)[number % 4 :]:
                    state.clear()
            case "register":
                timers.register_event_time_timer(number)
                timers.register_processing_time_timer(other)
            case "delete":
                timers.delete_event_time_timer(number)


class Model:
    """Runs the requests with plain Python, for one key."""

    def __init__(self) -> None:
        self.value: int | None = None
        self.list: list[int] = []
        self.map: dict[int, int] = {}
        self.sum: int | None = None
        self.windows: dict[int, int] = {}
        self.timers: set[tuple[str, int]] = set()

    def run(self, step: Step) -> None:
        """Does what a row asks for."""
        does, number, other = step
        match does:
            case "update":
                self.value = number + (self.value or 0)
            case "add":
                self.list.append(number)
            case "replace":
                self.list = [*self.list[-2:], number]
            case "put":
                self.map[number] = self.map.get(number, 0) + other
            case "remove":
                self.map.pop(number, None)
            case "reduce":
                self.sum = number if self.sum is None else self.sum + number
            case "window":
                self.windows[other] = self.windows.get(other, 0) + number
            case "leave":
                self.windows.pop(other, None)
            case "clear":
                self._clear(number % 4)
            case "register":
                self.timers |= {("EVENT_TIME", number), ("PROCESSING_TIME", other)}
            case "delete":
                self.timers.discard(("EVENT_TIME", number))

    def _clear(self, first: int) -> None:
        empty: list[tuple[str, Any]] = [("value", None), ("list", []), ("map", {}), ("sum", None)]
        for name, nothing in empty[first:]:
            setattr(self, name, nothing)

    def row(self, key: int) -> dict[str, Any] | None:
        """The row of the key in the table of keyed state."""
        found = {
            "value": self.value,
            "list": self.list or None,
            "map": sorted(self.map.items()) or None,
            "sum": self.sum,
        }
        return {"key": key, **found} if any(one is not None for one in found.values()) else None


NAMES = [
    "update",
    "add",
    "replace",
    "put",
    "remove",
    "reduce",
    "window",
    "leave",
    "clear",
    "register",
    "delete",
]
STEPS = st.builds(Step, st.sampled_from(NAMES), st.integers(-3, 3), st.integers(0, 2))
GROUPS = st.lists(st.lists(STEPS, min_size=1, max_size=25), min_size=20, max_size=60)


def expected(groups: list[list[Step]]) -> tuple[list[Any], list[Any], list[Any]]:
    """The tables of keyed state, of windows and of timers."""
    models: dict[int, Model] = defaultdict(Model)
    for key, steps in enumerate(groups):
        for step in steps:
            models[key].run(step)
    windows = [
        {"key": key, "namespace": number, "windows": value}
        for key, model in models.items()
        for number, value in model.windows.items()
    ]
    timers = [(key, *timer) for key, model in models.items() for timer in model.timers]
    rows = [model.row(key) for key, model in models.items()]
    return [row for row in rows if row], windows_in_order(windows), sorted(timers)


def windows_in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["key"], row["namespace"]))


def rows_of(scan: TableScan) -> list[dict[str, Any]]:
    """All rows of a table."""
    return [
        row for split in scan.splits() for batch in scan.read(split) for row in batch.to_pylist()
    ]


def left_by(
    spark: SparkSession, groups: list[list[Step]], backend: str
) -> tuple[list[Any], list[Any], list[Any]]:
    """The tables of a savepoint; rows that Spark must sort come in the wrong order."""
    rows = [
        (key, position, *step)
        for key, steps in enumerate(groups)
        for position, step in enumerate(steps)
    ]
    rows.sort(key=lambda row: -row[1])
    schema = "key BIGINT, at BIGINT, does STRING, number BIGINT, other BIGINT"
    data = spark.createDataFrame(rows, schema).coalesce(1)
    keyed = OperatorTransformation.bootstrap_with(data).assign_timestamps("at").key_by("key")
    operator = keyed.with_options({"state.backend.type": backend}).transform(Steps())
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/savepoint"
        Savepoint.create(spark, parallelism=2).with_operator("steps", operator).write(path)
        savepoint = Savepoint.open(path, uids=["steps"])
        state, windows, timers = (
            rows_of(savepoint.scan(f"steps.{table}"))
            for table in ("keyed_state", "window_state", "timers")
        )
    for row in state:
        row["map"] = row["map"] and sorted(row["map"])
    return (
        sorted(state, key=lambda row: row["key"]),
        windows_in_order(windows),
        sorted((row["key"], row["time_domain"], row["timestamp"]) for row in timers),
    )


# Many random keys in one job because a job takes seconds. Shrinking them isn't worth it.
@settings(
    max_examples=2,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(groups=GROUPS)
def test_all_ways_to_run_a_function_leave_what_dictionaries_hold(
    spark: SparkSession, groups: list[list[Step]]
) -> None:
    wanted = expected(groups)
    for backend in BACKENDS:
        assert left_by(spark, groups, backend) == wanted, backend
