package masked;

import java.time.Duration;
import java.util.Iterator;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.BroadcastState;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReadOnlyBroadcastState;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.streaming.api.functions.co.KeyedBroadcastProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.GlobalWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.evictors.CountEvictor;
import org.apache.flink.streaming.api.windowing.triggers.ContinuousEventTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.CountTrigger;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;

/** Joins of windows, triggers, evictors, functions with timers, broadcast state, and queries. */
final class MoreOperators {
    private static final Duration MINUTE = Duration.ofSeconds(60);
    private static final String[][] QUERIES = {
        {"sum", "SELECT f0, SUM(f1), COUNT(DISTINCT f1) FROM events GROUP BY f0"},
        {
            "top",
            "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY f0 ORDER BY f1 DESC) AS n"
                    + " FROM events) WHERE n <= 3"
        },
        {
            "last",
            "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY f0 ORDER BY ts DESC) AS n"
                    + " FROM events) WHERE n = 1"
        },
        {"over", "SELECT f0, SUM(f1) OVER (PARTITION BY f0 ORDER BY ts) FROM events"},
        {
            "tumbled",
            "SELECT f0, window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts),"
                    + " INTERVAL '1' MINUTES)) GROUP BY f0, window_start, window_end"
        },
        {
            "grouped_windows",
            "SELECT f0, MAX(f1) FROM events GROUP BY f0, SESSION(ts, INTERVAL '30' SECOND)"
        },
        {"joined_tables", "SELECT a.f0, b.f1 FROM events a LEFT JOIN events b ON a.f0 = b.f0"
                    + " AND b.f1 = a.f1 + 1"},
        {
            "joined_intervals",
            "SELECT a.f0, b.f1 FROM events a JOIN events b ON a.f0 = b.f0 AND b.ts BETWEEN"
                    + " a.ts - INTERVAL '20' SECOND AND a.ts + INTERVAL '20' SECOND"
        },
        {
            "joined_windows",
            "SELECT a.f0, b.f1 FROM (SELECT * FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts),"
                    + " INTERVAL '1' MINUTES))) a JOIN (SELECT * FROM TABLE(TUMBLE(TABLE events,"
                    + " DESCRIPTOR(ts), INTERVAL '1' MINUTES))) b ON a.f0 = b.f0 AND a.window_start"
                    + " = b.window_start AND a.window_end = b.window_end"
        },
        {
            "recognized",
            "SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY f0 ORDER BY ts MEASURES A.f1 AS a,"
                    + " B.f1 AS b ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B)"
                    + " WITHIN INTERVAL '1' MINUTES DEFINE A AS MOD(A.f1, 2) = 0, B AS MOD(B.f1, 2)"
                    + " = 1)"
        },
        {"sorted", "SELECT f0, f1 FROM events ORDER BY ts, f1"},
    };

    private MoreOperators() {}

    static void define(
            StreamExecutionEnvironment env,
            DataStream<Tuple2<String, Long>> rows,
            KeyedStream<Tuple2<String, Long>, String> users) {
        end("co_grouped", rows.join(rows)
                .where(row -> row.f0)
                .equalTo(row -> row.f0)
                .window(TumblingEventTimeWindows.of(MINUTE))
                .apply((a, b) -> a.f0 + b.f1, Types.STRING));
        end("sliding", users.window(SlidingEventTimeWindows.of(MINUTE, Duration.ofSeconds(20)))
                .trigger(ContinuousEventTimeTrigger.of(Duration.ofSeconds(7)))
                .process(new Contents())
                .uid("sliding"));
        end("evicted", users.window(TumblingEventTimeWindows.of(MINUTE))
                .evictor(CountEvictor.of(3))
                .process(new Contents())
                .uid("evicted"));
        end("counted", users.window(GlobalWindows.create())
                .trigger(CountTrigger.of(5))
                .reduce((a, b) -> b)
                .uid("counted")
                .map(row -> row.f0));
        end("all", rows.windowAll(TumblingEventTimeWindows.of(MINUTE))
                .reduce((a, b) -> b)
                .uid("all")
                .map(row -> row.f0));
        end("function", users.process(new Timed()).uid("function"));
        end("listed", rows.process(new Listed()).uid("listed").setParallelism(1));
        end("with_rules", users.connect(rows.broadcast(WithRules.RULES))
                .process(new WithRules())
                .uid("with_rules"));
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        Schema schema =
                Schema.newBuilder()
                        .column("f0", "STRING")
                        .column("f1", "BIGINT")
                        .columnByExpression("ts", "TO_TIMESTAMP_LTZ(f1 * 1000, 3)")
                        .watermark("ts", "SOURCE_WATERMARK()")
                        .build();
        tables.createTemporaryView("events", tables.fromDataStream(rows, schema));
        for (String[] query : QUERIES) {
            DataStream<Row> results = tables.toChangelogStream(tables.sqlQuery(query[1]));
            end(query[0], results.map(Row::toString));
        }
    }

    private static void end(String name, DataStream<String> results) {
        results.map(new MaskedJobs.Counted(name)).sinkTo(new DiscardingSink<>());
    }

    static final class Contents
            extends ProcessWindowFunction<Tuple2<String, Long>, String, String, TimeWindow> {
        @Override
        public void process(
                String user,
                Context context,
                Iterable<Tuple2<String, Long>> rows,
                Collector<String> out)
                throws Exception {
            ValueState<String> last =
                    context.globalState()
                            .getState(new ValueStateDescriptor<>("last window", Types.STRING));
            last.update(user + " until " + context.window().getEnd());
            Iterator<Tuple2<String, Long>> all = rows.iterator();
            out.collect(all.next().f0);
        }
    }

    /** State of each kind, with and without a time to live, and timers of both times. */
    static final class Timed extends KeyedProcessFunction<String, Tuple2<String, Long>, String> {
        private transient ValueState<Tuple2<String, Long>> last;
        private transient ListState<String> names;
        private transient MapState<String, String> byName;

        @Override
        public void open(OpenContext context) {
            ValueStateDescriptor<Tuple2<String, Long>> timed =
                    new ValueStateDescriptor<>("last", Types.TUPLE(Types.STRING, Types.LONG));
            timed.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofDays(9)).build());
            last = getRuntimeContext().getState(timed);
            names = getRuntimeContext().getListState(new ListStateDescriptor<>("names", Types.STRING));
            byName =
                    getRuntimeContext()
                            .getMapState(
                                    new MapStateDescriptor<>("by name", Types.STRING, Types.STRING));
        }

        @Override
        public void processElement(
                Tuple2<String, Long> row, Context context, Collector<String> out)
                throws Exception {
            last.update(row);
            names.add(row.f0);
            byName.put(row.f0 + " " + row.f1, row.f0);
            context.timerService().registerEventTimeTimer(row.f1 * 1000 + 90_000);
            long later = context.timerService().currentProcessingTime() + 1_000_000;
            context.timerService().registerProcessingTimeTimer(later);
        }

        @Override
        public void onTimer(long time, OnTimerContext context, Collector<String> out)
                throws Exception {
            for (String name : names.get()) {
                last.value();
            }
            for (String name : byName.keys()) {
                byName.get(name);
            }
            out.collect(context.getCurrentKey());
        }
    }

    /** Keeps texts in a list of its operator. */
    static final class Listed extends ProcessFunction<Tuple2<String, Long>, String>
            implements CheckpointedFunction {
        private transient ListState<String> names;

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            names =
                    context.getOperatorStateStore()
                            .getListState(new ListStateDescriptor<>("names", Types.STRING));
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) {}

        @Override
        public void processElement(
                Tuple2<String, Long> row, Context context, Collector<String> out)
                throws Exception {
            if (row.f1 % 10 == 0) {
                names.add(row.f0);
            }
            out.collect(names.get().iterator().next());
        }
    }

    static final class WithRules
            extends KeyedBroadcastProcessFunction<
                    String, Tuple2<String, Long>, Tuple2<String, Long>, String> {
        static final MapStateDescriptor<String, String> RULES =
                new MapStateDescriptor<>("rules", Types.STRING, Types.STRING);

        @Override
        public void processElement(
                Tuple2<String, Long> row, ReadOnlyContext context, Collector<String> out)
                throws Exception {
            ReadOnlyBroadcastState<String, String> rules = context.getBroadcastState(RULES);
            context.timerService().registerEventTimeTimer(row.f1 * 1000 + 30_000);
            out.collect(row.f0 + rules.get(row.f0));
        }

        @Override
        public void processBroadcastElement(
                Tuple2<String, Long> row, Context context, Collector<String> out)
                throws Exception {
            BroadcastState<String, String> rules = context.getBroadcastState(RULES);
            rules.put(row.f0, "rule of " + row.f0);
        }

        @Override
        public void onTimer(long time, OnTimerContext context, Collector<String> out) {
            out.collect(context.getCurrentKey());
        }
    }
}
