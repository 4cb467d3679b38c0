"""A PyFlink job with every kind of state; it writes down what it has, and savepoints of itself.

``python job.py PLAN.json``, by a Python that has PyFlink. The plan:

| field     | meaning                                                                     |
|-----------|-----------------------------------------------------------------------------|
| backend   | ``hashmap`` or ``rocksdb``                                                  |
| mode      | ``process`` or ``thread``                                                   |
| events    | ``[number, key]`` each; a number below 0 changes nothing                    |
| formats   | ``CANONICAL`` and ``NATIVE``: savepoints to take, below ``folder``          |
| folder    | for savepoints, and the files ``states.*`` with what the functions have     |
| parallelism, max_parallelism | of the operators                                         |
| restored  | the savepoint to begin with, or null                                        |

A line of ``states.*`` is a Python literal: operator, key, states.
"""

import datetime
import decimal
import json
import os
import sys
import time

from pyflink.common import Duration, Row, Time, Types, WatermarkStrategy
from pyflink.common.time import Instant
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import (
    AggregateFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessWindowFunction,
    ReduceFunction,
)
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from pyflink.datastream.window import CountTumblingWindowAssigner, TumblingEventTimeWindows
from pyflink.table import DataTypes, ListView, StreamTableEnvironment, udf
from pyflink.table.expressions import call, col
from running import await_reports, configuration, take_savepoints

EVENT = Types.ROW_NAMED(["number", "key"], [Types.LONG(), Types.STRING()])
ITEM = Types.ROW_NAMED(
    ["name", "count", "inner"],
    [Types.STRING(), Types.LONG(), Types.TUPLE([Types.INT(), Types.STRING()])],
)


def plain(value):
    if isinstance(value, Row):
        return (
            {name: plain(field) for name, field in value.as_dict().items()}
            if value._fields
            else [plain(field) for field in value]
        )
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in sorted(value.items())}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, Instant):
        return [value.seconds, value.nanos]
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, set, frozenset)):
        return str(value)
    return value


class Events(FlatMapFunction):
    def __init__(self, events):
        self.events = events

    def flat_map(self, number):
        if number < len(self.events):
            yield Row(*self.events[number])
        else:
            time.sleep(0.02)


class EventTimes(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return 1_000 + abs(value[0]) * 1_000


class Sum(ReduceFunction):
    def reduce(self, value1, value2):
        return value1 + value2


class Average(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Reporting:
    def __init__(self, folder, uid):
        self.folder, self.uid = folder, uid

    def report(self, key, states):
        with open(f"{self.folder}/states.{os.getpid()}.{self.uid}", "a") as file:
            file.write(repr([self.uid, plain(key), plain(states)]) + "\n")


VALUES = {
    "a_boolean": (Types.BOOLEAN(), lambda n: n % 2 == 0),
    "a_byte": (Types.BYTE(), lambda n: n % 100 - 50),
    "a_short": (Types.SHORT(), lambda n: -n),
    "an_int": (Types.INT(), lambda n: n * 1000),
    "a_float": (Types.FLOAT(), lambda n: n + 0.5),
    "a_double": (Types.DOUBLE(), lambda n: n + 0.25),
    "a_big_int": (Types.BIG_INT(), lambda n: n << 33),
    "a_decimal": (Types.BIG_DEC(), lambda n: decimal.Decimal(n) / 8),
    "a_date": (Types.SQL_DATE(), lambda n: datetime.date(1960 + n, 2, 28)),
    "a_time": (Types.SQL_TIME(), lambda n: datetime.time(n % 24, 5, 6, 7000)),
    "a_timestamp": (
        Types.SQL_TIMESTAMP(),
        lambda n: datetime.datetime(1970 + n, 1, 2, 3, 4, 5, 6000),
    ),
    "an_instant": (Types.INSTANT(), lambda n: Instant(n, 5000)),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), lambda n: bytes([n % 7, 255])),
    "longs": (Types.PRIMITIVE_ARRAY(Types.LONG()), lambda n: [n, n + 1]),
    "texts": (Types.BASIC_ARRAY(Types.STRING()), lambda n: [str(n), None, "ä"]),
    "object_array": (Types.OBJECT_ARRAY(Types.STRING()), lambda n: [str(n)]),
    "a_list": (Types.LIST(Types.LONG()), lambda n: [n, None]),
    "a_map": (Types.MAP(Types.STRING(), Types.LONG()), lambda n: {"n": n, "none": None}),
    "a_tuple": (Types.TUPLE([Types.LONG(), Types.STRING()]), lambda n: (n, "t")),
    "item": (ITEM, lambda n: Row(name="i", count=None if n % 2 else n, inner=(n, "in"))),
    "a_pickle": (Types.PICKLED_BYTE_ARRAY(), lambda n: {"n": n, "of": [1.5, None, "x"]}),
}


class Typed(KeyedProcessFunction, Reporting):
    def open(self, context):
        ttl = StateTtlConfig.new_builder(Time.days(1000)).build()
        self.total = context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.label = context.get_state(ValueStateDescriptor("label", Types.STRING()))
        self.seen = context.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.words = context.get_list_state(ListStateDescriptor("words", Types.STRING()))
        self.counts = context.get_map_state(
            MapStateDescriptor("counts", Types.STRING(), Types.LONG())
        )
        self.sum = context.get_reducing_state(ReducingStateDescriptor("sum", Sum(), Types.LONG()))
        self.average = context.get_aggregating_state(
            AggregatingStateDescriptor(
                "average", Average(), Types.TUPLE([Types.LONG(), Types.LONG()])
            )
        )
        recent = ValueStateDescriptor("recent", Types.LONG())
        recent.enable_time_to_live(ttl)
        self.recent = context.get_state(recent)
        recent_list = ListStateDescriptor("recent_list", Types.STRING())
        recent_list.enable_time_to_live(ttl)
        self.recent_list = context.get_list_state(recent_list)
        recent_map = MapStateDescriptor("recent_map", Types.STRING(), Types.LONG())
        recent_map.enable_time_to_live(ttl)
        self.recent_map = context.get_map_state(recent_map)
        self.values = {
            name: context.get_state(ValueStateDescriptor(name, kind))
            for name, (kind, _) in VALUES.items()
        }

    def process_element(self, value, ctx):
        number = value[0]
        if number >= 0:
            self.total.update((self.total.value() or 0) + number)
            self.label.update(f"ä{number}")
            self.seen.add(number)
            self.words.add("w" * number)
            self.counts.put(value[1], (self.counts.get(value[1]) or 0) + 1)
            self.sum.add(number)
            self.average.add(number)
            self.recent.update(number)
            self.recent_list.add(str(number))
            self.recent_map.put(str(number), number)
            for name, (_, of) in VALUES.items():
                self.values[name].update(of(number))
            ctx.timer_service().register_event_time_timer(10**15 + number)
            ctx.timer_service().register_processing_time_timer(4 * 10**12 + number)
        self.report(
            ctx.get_current_key(),
            {
                "total": self.total.value(),
                "label": self.label.value(),
                "seen": list(self.seen.get() or []),
                "words": list(self.words.get() or []),
                "counts": dict(self.counts.items()),
                "sum": self.sum.get(),
                "average": self.average.get(),
                "recent": self.recent.value(),
                "recent_list": list(self.recent_list.get() or []),
                "recent_map": dict(self.recent_map.items()),
                **{name: state.value() for name, state in self.values.items()},
            },
        )
        yield "done"


class Pickled(KeyedProcessFunction, Reporting):
    def open(self, context):
        kind = Types.PICKLED_BYTE_ARRAY()
        self.any = context.get_state(ValueStateDescriptor("any", kind))
        self.list = context.get_list_state(ListStateDescriptor("list", kind))
        self.map = context.get_map_state(MapStateDescriptor("map", kind, kind))
        self.object = context.get_state(ValueStateDescriptor("object", kind))

    def process_element(self, value, ctx):
        number = value[0]
        if number >= 0:
            at = datetime.datetime(2024, 1, 1 + number % 20)
            self.any.update({"n": number, "at": at, "price": decimal.Decimal(number) / 4})
            self.list.add((number, "ä"))
            self.map.put(number, [number])
            self.object.update(Row(number))
        self.report(
            ctx.get_current_key(),
            {
                "any": self.any.value(),
                "list": list(self.list.get() or []),
                "map": dict(self.map.items()),
            },
        )
        yield "done"


class OneValue(KeyedProcessFunction, Reporting):
    def open(self, context):
        self.total = context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value, ctx):
        if value[0] >= 0:
            self.total.update((self.total.value() or 0) + value[0])
        self.report(ctx.get_current_key(), {"total": self.total.value()})
        yield "done"


class Contents(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield f"{key} {len(list(elements))}"


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class WithRules(KeyedBroadcastProcessFunction, Reporting):
    def process_broadcast_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        if value[0] >= 0:
            rules.put(value[1], value[0])
        self.report(None, {"rules": dict(rules.items())})
        yield "done"

    def process_element(self, value, ctx):
        yield "done"


class Spread(udf.AggregateFunction):
    """The least and the greatest number, and all of them in a view."""

    def create_accumulator(self):
        return Row(None, None, ListView())

    def accumulate(self, accumulator, number):
        accumulator[0] = min(number, accumulator[0] or number)
        accumulator[1] = max(number, accumulator[1] or number)
        accumulator[2].add(number)

    def get_value(self, accumulator):
        return Row(accumulator[0], accumulator[1], list(accumulator[2]))

    def get_accumulator_type(self):
        views = DataTypes.FIELD("numbers", DataTypes.LIST_VIEW(DataTypes.BIGINT()))
        ends = [DataTypes.FIELD(name, DataTypes.BIGINT()) for name in ("least", "most")]
        return DataTypes.ROW([*ends, views])

    def get_result_type(self):
        numbers = DataTypes.FIELD("numbers", DataTypes.ARRAY(DataTypes.BIGINT()))
        ends = [DataTypes.FIELD(name, DataTypes.BIGINT()) for name in ("least", "most")]
        return DataTypes.ROW([*ends, numbers])


class Written(MapFunction, Reporting):
    def map(self, value):
        self.report(value[0], {"spread": value[1]})
        return "done"


def aggregated(env, events, folder, uid):
    """A query with an aggregate function in Python; each change of a result is written down."""
    tables = StreamTableEnvironment.create(env)
    tables.create_temporary_function("spread", udf.udaf(Spread()))
    table = tables.from_data_stream(events)
    result = table.group_by(col("key")).select(col("key"), call("spread", col("number")))
    tables.to_changelog_stream(result).map(Written(folder, uid), Types.STRING()).uid(uid)


def build(env, plan):
    folder = plan["folder"]
    source = NumberSequenceSource(0, 10**9)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid(
        plan["source"]
    )
    events = numbers.flat_map(Events(plan["events"]), EVENT).uid("events")
    events = events.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_bounded_out_of_orderness(
            Duration.of_hours(1000)
        ).with_timestamp_assigner(EventTimes())
    ).uid("times")
    keys = {
        "by_long": (lambda e: len(e[1]), Types.LONG(), Typed),
        "by_text": (lambda e: e[1], Types.STRING(), Pickled),
        "by_row": (
            lambda e: Row(len(e[1]), e[1]),
            Types.ROW_NAMED(["size", "text"], [Types.LONG(), Types.STRING()]),
            OneValue,
        ),
        "by_tuple": (
            lambda e: (len(e[1]), e[1]),
            Types.TUPLE([Types.LONG(), Types.STRING()]),
            OneValue,
        ),
        "by_pickle": (lambda e: (e[1], 1), None, OneValue),
    }
    for uid in plan["operators"]:
        if uid in keys:
            selector, kind, function = keys[uid]
            events.key_by(selector, kind).process(function(folder, uid), Types.STRING()).uid(uid)
        elif uid == "windows":
            (
                events.key_by(lambda e: e[1], Types.STRING())
                .window(TumblingEventTimeWindows.of(Time.seconds(10)))
                .process(Contents(), Types.STRING())
                .uid(uid)
            )
        elif uid == "sums":
            (
                events.map(lambda e: e[0], Types.LONG())
                .key_by(lambda n: n % 3, Types.LONG())
                .window(TumblingEventTimeWindows.of(Time.seconds(10)))
                .reduce(lambda a, b: a + b, output_type=Types.LONG())
                .uid(uid)
            )
        elif uid == "aggregated":
            aggregated(env, events, folder, uid)
        elif uid == "counted":
            (
                events.key_by(lambda e: e[1], Types.STRING())
                .window(CountTumblingWindowAssigner.of(1000))
                .process(Contents(), Types.STRING())
                .uid(uid)
            )
        elif uid == "with_rules":
            (
                events.key_by(lambda e: e[1], Types.STRING())
                .connect(events.broadcast(RULES))
                .process(WithRules(folder, uid), Types.STRING())
                .uid(uid)
            )


def main(plan):
    if plan["mode"] == "thread":
        # PyFlink itself fails with dates, decimals and the like in states of thread mode.
        for name in VALUES.keys() - {"a_boolean", "a_byte", "an_int", "a_double", "a_pickle"}:
            del VALUES[name]
    env = StreamExecutionEnvironment.get_execution_environment(configuration(plan))
    env.set_parallelism(plan["parallelism"])
    env.set_max_parallelism(plan["max_parallelism"])
    build(env, plan)
    client = env.execute_async("states")
    reporting = [uid for uid in plan["operators"] if uid not in ("windows", "sums", "counted")]
    await_reports(plan, reporting)
    # Operators that report nothing have the events, too, before the barrier of a savepoint comes behind them.
    take_savepoints(client, plan)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        main(json.load(file))
