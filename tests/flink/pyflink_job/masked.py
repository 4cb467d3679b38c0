"""A PyFlink job whose timers and windows answer; it runs until a savepoint, or to its end.

``python masked.py PLAN.json``, by a Python that has PyFlink. The plan is that of ``job.py``. Without
``formats`` the job reads its events to their end, so that all timers of event time fire.

A line of ``states.*`` is a Python literal: operator, key, and what it answers.
"""

import json
import os
import sys
import time

from job import EVENT, Events, EventTimes, Reporting
from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import (
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
)
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    TumblingEventTimeWindows,
)
from running import configuration, take_savepoints

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class Timed(KeyedProcessFunction, Reporting):
    """Answers with its states when a timer fires."""

    def __init__(self, folder):
        self.folder, self.uid = folder, "timed"

    def open(self, context):
        self.total = context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.label = context.get_state(ValueStateDescriptor("label", Types.STRING()))
        self.any = context.get_state(ValueStateDescriptor("any", Types.PICKLED_BYTE_ARRAY()))
        self.words = context.get_map_state(
            MapStateDescriptor("words", Types.STRING(), Types.LONG())
        )

    def process_element(self, value, ctx):
        number, key = value
        self.total.update((self.total.value() or 0) + number)
        self.label.update(f"label of {key}")
        self.any.update({"number": number})
        self.words.put(f"word {number}", number)
        ctx.timer_service().register_event_time_timer(number * 1000 + 60_000)
        yield "done"

    def on_timer(self, timestamp, ctx):
        states = {
            "time": timestamp,
            "total": self.total.value(),
            "label": self.label.value(),
            "any": self.any.value(),
            "words": dict(self.words.items()),
        }
        self.report(ctx.get_current_key(), states)
        yield "done"


class Contents(ProcessWindowFunction, Reporting):
    """Answers with the elements of a window."""

    def __init__(self, folder, uid):
        self.folder, self.uid = folder, uid

    def process(self, key, context, elements):
        window = context.window()
        times = [window.start, window.end] if hasattr(window, "start") else []
        self.report(key, {"times": times, "elements": [list(element) for element in elements]})
        yield "done"


class WithRules(KeyedBroadcastProcessFunction, Reporting):
    """Answers with its rules at each row."""

    def __init__(self, folder):
        self.folder, self.uid = folder, "with_rules"

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[1], value[0])
        self.report(None, {"rules": dict(ctx.get_broadcast_state(RULES).items())})
        yield "done"

    def process_element(self, value, ctx):
        yield "done"


def build(env, plan):
    folder, is_last = plan["folder"], not plan["formats"]
    end = len(plan["events"]) - 1 if is_last else 10**9
    source = NumberSequenceSource(0, end)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers = numbers.uid(plan["source"])
    events = numbers.flat_map(Events(plan["events"]), EVENT).uid("events")
    events = events.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_bounded_out_of_orderness(
            Duration.of_hours(1000)
        ).with_timestamp_assigner(EventTimes())
    ).uid("times")
    users = events.key_by(lambda event: event[1], Types.STRING())
    users.process(Timed(folder), Types.STRING()).uid("timed")
    rules = users.connect(events.broadcast(RULES))
    rules.process(WithRules(folder), Types.STRING()).uid("with_rules")
    assigners = {
        "sessions": EventTimeSessionWindows.with_gap(Time.seconds(3)),
        "tumbling": TumblingEventTimeWindows.of(Time.seconds(10)),
        "threes": CountTumblingWindowAssigner.of(3),
    }
    for uid, assigner in assigners.items():
        windows = users.window(assigner)
        if uid == "tumbling":
            windows = windows.trigger(ContinuousEventTimeTrigger.of(Time.seconds(4)))
        windows.process(Contents(folder, uid), Types.STRING()).uid(uid)


def main(plan):
    env = StreamExecutionEnvironment.get_execution_environment(configuration(plan))
    # Processes of functions import the module that has some of them, which imports the other one.
    for name in ("job.py", "running.py"):
        env.add_python_file(os.path.join(os.path.dirname(__file__), name))
    env.set_parallelism(plan["parallelism"])
    env.set_max_parallelism(plan["max_parallelism"])
    build(env, plan)
    if not plan["formats"]:
        env.execute("masked")
        return
    client = env.execute_async("masked")
    ends = time.time() + 90
    while reported(plan["folder"]) < len(plan["events"]):
        if time.time() > ends:
            raise SystemExit("the events did not come")
        time.sleep(0.1)
    # All operators have the events before the barrier of a savepoint, which comes behind them.
    take_savepoints(client, plan)


def reported(folder):
    """Answers about rules: one for each event."""
    names = [name for name in os.listdir(folder) if name.endswith(".with_rules")]
    return sum(len(open(os.path.join(folder, name)).readlines()) for name in names)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        main(json.load(file))
