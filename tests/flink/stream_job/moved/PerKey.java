package moved;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Functions of {@code MovedJob} with the state and the timers of a query of Spark. */
final class PerKey {
    static final long HOUR_MS = 3_600_000;
    static final long SHORT_MS = 3_000;
    private static final long DELAY_MS = 10_000;
    private static final long NEAR_MS = 20_000;

    /** Sum and number of the values of a key, all of them, and the set of its ids. */
    static final class Totals extends KeyedProcessFunction<String, Row, String> {
        private transient ValueState<Long> total;
        private transient ValueState<Long> number;
        private transient ListState<Long> values;
        private transient ListState<String> words;

        @Override
        public void open(OpenContext context) {
            total = getRuntimeContext().getState(new ValueStateDescriptor<>("total", Types.LONG));
            number = getRuntimeContext().getState(new ValueStateDescriptor<>("n", Types.LONG));
            values =
                    getRuntimeContext().getListState(new ListStateDescriptor<>("seen", Types.LONG));
            words =
                    getRuntimeContext()
                            .getListState(new ListStateDescriptor<>("words", Types.STRING));
        }

        @Override
        public void processElement(Row row, Context context, Collector<String> out)
                throws Exception {
            total.update((total.value() == null ? 0 : total.value()) + row.value);
            number.update((number.value() == null ? 0 : number.value()) + 1);
            values.add(row.value);
            if (!sorted(words).contains("w" + row.id)) {
                words.add("w" + row.id);
            }
            out.collect(
                    "total " + row.key + " " + total.value() + " " + number.value() + " "
                            + sorted(values) + " " + sorted(words));
        }
    }

    /** As {@code dropDuplicates}. */
    static final class Distinct
            extends KeyedProcessFunction<Tuple2<String, Integer>, Row, String> {
        private transient ValueState<Boolean> seen;

        @Override
        public void open(OpenContext context) {
            seen = getRuntimeContext().getState(new ValueStateDescriptor<>("seen", Types.BOOLEAN));
        }

        @Override
        public void processElement(Row row, Context context, Collector<String> out)
                throws Exception {
            if (seen.value() == null) {
                seen.update(true);
                out.collect("distinct " + row.key + " " + row.id);
            }
        }
    }

    /** As {@code dropDuplicatesWithinWatermark}: a key is forgotten when time passes its end. */
    static final class Within extends KeyedProcessFunction<String, Row, String> {
        private final String name;
        private transient ValueState<Long> expires;

        Within(String name) {
            this.name = name;
        }

        @Override
        public void open(OpenContext context) {
            expires = getRuntimeContext().getState(new ValueStateDescriptor<>("expires", Types.LONG));
        }

        @Override
        public void processElement(Row row, Context context, Collector<String> out)
                throws Exception {
            if (expires.value() == null) {
                expires.update(row.time + DELAY_MS);
                context.timerService().registerEventTimeTimer(row.time + DELAY_MS);
                out.collect(name + " " + context.getCurrentKey() + " " + row.time);
            }
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out) {
            expires.clear();
        }
    }

    /** As {@code applyInPandasWithState}: a number of rows, and one timeout an hour after the last. */
    static final class Groups extends KeyedProcessFunction<String, Row, String> {
        private transient ValueState<Tuple2<Long, Long>> group;

        @Override
        public void open(OpenContext context) {
            group =
                    getRuntimeContext()
                            .getState(
                                    new ValueStateDescriptor<>(
                                            "group", Types.TUPLE(Types.LONG, Types.LONG)));
        }

        @Override
        public void processElement(Row row, Context context, Collector<String> out)
                throws Exception {
            Tuple2<Long, Long> before = group.value();
            if (before != null) {
                context.timerService().deleteEventTimeTimer(before.f1 + HOUR_MS);
            }
            long number = before == null ? 1 : before.f0 + 1;
            group.update(Tuple2.of(number, row.time));
            context.timerService().registerEventTimeTimer(row.time + HOUR_MS);
            out.collect("group " + row.key + " " + number + " " + row.time);
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out)
                throws Exception {
            out.collect("timeout " + context.getCurrentKey() + " " + group.value().f0);
            group.clear();
        }
    }

    /** As {@code transformWithState}: a value, a list, a map, and a timer per row an hour later. */
    static final class Accounts extends KeyedProcessFunction<String, Row, String> {
        private transient ValueState<Tuple2<Long, Long>> total;
        private transient ListState<Long> seen;
        private transient MapState<Integer, Long> byId;

        @Override
        public void open(OpenContext context) {
            total =
                    getRuntimeContext()
                            .getState(
                                    new ValueStateDescriptor<>(
                                            "total", Types.TUPLE(Types.LONG, Types.LONG)));
            seen = getRuntimeContext().getListState(new ListStateDescriptor<>("seen", Types.LONG));
            byId =
                    getRuntimeContext()
                            .getMapState(
                                    new MapStateDescriptor<>("by_id", Types.INT, Types.LONG));
        }

        @Override
        public void processElement(Row row, Context context, Collector<String> out)
                throws Exception {
            long number = total.value() == null ? 0 : total.value().f0;
            total.update(Tuple2.of(number + 1, row.value));
            seen.add(row.value);
            byId.put(row.id, row.value);
            context.timerService().registerEventTimeTimer(row.time + HOUR_MS);
            out.collect(
                    "account " + row.key + " " + total.value() + " " + sorted(seen) + " "
                            + sorted(byId));
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out) {
            out.collect("fired " + context.getCurrentKey() + " " + timestamp);
        }
    }

    /** As {@code transformWithState} with times to live: the list is soon forgotten. */
    static final class Visits extends KeyedProcessFunction<String, Row, String> {
        private transient ValueState<Long> last;
        private transient ListState<Long> recent;
        private transient MapState<Integer, Long> byId;

        @Override
        public void open(OpenContext context) {
            last =
                    getRuntimeContext()
                            .getState(living(new ValueStateDescriptor<>("last", Types.LONG), HOUR_MS));
            recent =
                    getRuntimeContext()
                            .getListState(
                                    living(new ListStateDescriptor<>("recent", Types.LONG), SHORT_MS));
            byId =
                    getRuntimeContext()
                            .getMapState(
                                    living(
                                            new MapStateDescriptor<>(
                                                    "by_id", Types.INT, Types.LONG),
                                            HOUR_MS));
        }

        @Override
        public void processElement(Row row, Context context, Collector<String> out)
                throws Exception {
            Long before = last.value();
            last.update(row.value);
            recent.add(row.value);
            byId.put(row.id, row.value);
            out.collect(
                    "visit " + row.key + " " + before + " " + sorted(recent) + " " + sorted(byId));
        }

        private static <D extends StateDescriptor<?, ?>> D living(D descriptor, long ms) {
            descriptor.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofMillis(ms)).build());
            return descriptor;
        }
    }

    /** As an outer join of a stream with its rows of even ids, within 20 seconds. */
    static final class Outer extends KeyedProcessFunction<String, Row, String> {
        private transient ListState<Tuple3<Long, Long, Boolean>> left;
        private transient ListState<Tuple2<Integer, Long>> right;

        @Override
        public void open(OpenContext context) {
            left =
                    getRuntimeContext()
                            .getListState(
                                    new ListStateDescriptor<>(
                                            "left",
                                            Types.TUPLE(Types.LONG, Types.LONG, Types.BOOLEAN)));
            right =
                    getRuntimeContext()
                            .getListState(
                                    new ListStateDescriptor<>(
                                            "right", Types.TUPLE(Types.INT, Types.LONG)));
        }

        @Override
        public void processElement(Row row, Context context, Collector<String> out)
                throws Exception {
            boolean isMatched = false;
            for (Tuple2<Integer, Long> other : right.get()) {
                isMatched |= met(row.key, row.value, row.time, other.f0, other.f1, out);
            }
            left.add(Tuple3.of(row.value, row.time, isMatched));
            context.timerService().registerEventTimeTimer(row.time + NEAR_MS + 1);
            if (row.id % 2 != 0) {
                return;
            }
            List<Tuple3<Long, Long, Boolean>> rows = new ArrayList<>();
            for (Tuple3<Long, Long, Boolean> it : left.get()) {
                it.f2 |= met(row.key, it.f0, it.f1, row.id, row.time, out);
                rows.add(it);
            }
            left.update(rows);
            right.add(Tuple2.of(row.id, row.time));
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out)
                throws Exception {
            List<Tuple3<Long, Long, Boolean>> open = new ArrayList<>();
            for (Tuple3<Long, Long, Boolean> it : left.get()) {
                if (it.f1 + NEAR_MS + 1 > timestamp) {
                    open.add(it);
                } else if (!it.f2) {
                    out.collect("outer " + context.getCurrentKey() + " " + it.f0 + " null");
                }
            }
            left.update(open);
        }

        private static boolean met(
                String key, long value, long time, int id, long other, Collector<String> out) {
            boolean isNear = Math.abs(time - other) <= NEAR_MS;
            if (isNear) {
                out.collect("outer " + key + " " + value + " " + id);
            }
            return isNear;
        }
    }

    private static <T extends Comparable<T>> List<T> sorted(ListState<T> state) throws Exception {
        List<T> elements = new ArrayList<>();
        state.get().forEach(elements::add);
        elements.sort(null);
        return elements;
    }

    private static Map<Integer, Long> sorted(MapState<Integer, Long> state) throws Exception {
        Map<Integer, Long> entries = new TreeMap<>();
        state.entries().forEach(entry -> entries.put(entry.getKey(), entry.getValue()));
        return entries;
    }

    private PerKey() {}
}
