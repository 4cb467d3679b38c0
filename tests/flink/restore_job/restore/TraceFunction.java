package restore;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.TimerService;
import org.apache.flink.util.Collector;

/**
 * Functions as users write them, by timers of event time; each call of a key gives a line.
 *
 * <p>State {@code count} has the rows so far, {@code at} a time, {@code lines} the number of lines.
 */
final class TraceFunction extends KeyedProcessFunction<String, Tuple2<String, Long>, Object> {
    private static final long MINUTE = 60_000;
    private static final long HOUR = 60 * MINUTE;

    private final String uid;
    private final String does;
    private transient ValueState<Long> count;
    private transient ValueState<Long> at;
    private transient ValueState<Long> lines;

    TraceFunction(String uid, String does) {
        this.uid = uid;
        this.does = does;
    }

    @Override
    public void open(OpenContext context) {
        count = number("count");
        at = number("at");
        lines = number("lines");
    }

    private ValueState<Long> number(String name) {
        return getRuntimeContext().getState(new ValueStateDescriptor<>(name, Types.LONG));
    }

    @Override
    public void processElement(Tuple2<String, Long> row, Context context, Collector<Object> out)
            throws Exception {
        TimerService timers = context.timerService();
        long now = context.timestamp();
        long rows = count.value() == null ? 0 : count.value();
        switch (does) {
            case "sessions" -> {
                if (at.value() != null) {
                    timers.deleteEventTimeTimer(at.value());
                }
                at.update(now + 30 * MINUTE);
                timers.registerEventTimeTimer(now + 30 * MINUTE);
            }
            case "timeouts" -> {
                at.update(now);
                timers.registerEventTimeTimer(now + 40 * MINUTE);
            }
            case "hourly" -> timers.registerEventTimeTimer(Math.floorDiv(now, HOUR) * HOUR + HOUR - 1);
            case "once" -> {
                if (at.value() == null) {
                    at.update(now);
                    timers.registerEventTimeTimer(now + 2 * HOUR);
                }
            }
            default -> throw new IllegalArgumentException("no function " + does);
        }
        count.update(rows + 1);
        line(context, "row", now);
    }

    @Override
    public void onTimer(long timestamp, OnTimerContext context, Collector<Object> out)
            throws Exception {
        line(context, "timer", timestamp);
        switch (does) {
            case "timeouts" -> {
                if (at.value() != null && timestamp == at.value() + 40 * MINUTE) {
                    count.clear();
                    at.clear();
                }
            }
            case "hourly" -> {
                if (count.value() != null) {
                    context.timerService().registerEventTimeTimer(timestamp + HOUR);
                }
                count.clear();
            }
            default -> {
                count.clear();
                at.clear();
            }
        }
    }

    private void line(Context context, String what, long timestamp) throws Exception {
        long number = lines.value() == null ? 0 : lines.value();
        lines.update(number + 1);
        Rows.add(uid, getRuntimeContext().getTaskInfo().getIndexOfThisSubtask(),
                "key", context.getCurrentKey(), "line", number, "what", what,
                "timestamp", timestamp, "watermark", context.timerService().currentWatermark(),
                "count", count.value());
    }
}
