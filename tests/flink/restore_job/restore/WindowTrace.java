package restore;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.datastream.WindowedStream;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.GlobalWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.evictors.CountEvictor;
import org.apache.flink.streaming.api.windowing.evictors.DeltaEvictor;
import org.apache.flink.streaming.api.windowing.evictors.Evictor;
import org.apache.flink.streaming.api.windowing.evictors.TimeEvictor;
import org.apache.flink.streaming.api.windowing.triggers.ContinuousEventTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.CountTrigger;
import org.apache.flink.streaming.api.windowing.triggers.DeltaTrigger;
import org.apache.flink.streaming.api.windowing.triggers.EventTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.PurgingTrigger;
import org.apache.flink.streaming.api.windowing.triggers.Trigger;
import org.apache.flink.streaming.api.windowing.windows.Window;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/** Flink's window operators over rows that are told; each firing is a row of the answer. */
final class WindowTrace {
    private static final int KEYS = 3;
    private static final OutputTag<Long> LATE = new OutputTag<>("late", Types.LONG);

    private WindowTrace() {}

    static SingleOutputStreamOperator<?> of(
            DataStream<Object> nothing, TypeInformation<Object> text, Request.Operator operator) {
        WindowedStream<Long, Long, Window> windows =
                nothing.transform("rows", Types.LONG, new RowsOperator(operator.rows()))
                        .setParallelism(1)
                        .keyBy(number -> number % KEYS, Types.LONG)
                        .window(assigner(operator.windows()))
                        .allowedLateness(Duration.ofMillis(operator.windows().lateness()))
                        .sideOutputLateData(LATE);
        if (!operator.windows().trigger().isEmpty()) {
            windows = windows.trigger(trigger(operator.windows().trigger().split(" ")));
        }
        if (!operator.windows().evictor().isEmpty()) {
            windows = windows.evictor(evictor(operator.windows().evictor().split(" ")));
        }
        SingleOutputStreamOperator<Object> fired = function(windows, text, operator);
        fired.getSideOutput(LATE).process(new LateFunction(operator.uid()), Types.LONG);
        return fired;
    }

    private static SingleOutputStreamOperator<Object> function(
            WindowedStream<Long, Long, Window> windows,
            TypeInformation<Object> text,
            Request.Operator operator) {
        boolean isMerging = operator.windows().assigner().equals("session");
        TraceFunction function = new TraceFunction(operator.uid(), isMerging);
        return switch (operator.windows().contents()) {
            case "reduce" -> windows.reduce(Long::sum, function, text);
            case "process" -> windows.process(function, text);
            default -> throw new IllegalArgumentException("no contents like this");
        };
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static WindowAssigner<Object, Window> assigner(Request.Windows windows) {
        Duration size = Duration.ofMillis(windows.size());
        WindowAssigner assigner =
                switch (windows.assigner()) {
                    case "tumbling" -> TumblingEventTimeWindows.of(size);
                    case "sliding" -> SlidingEventTimeWindows.of(size, size.dividedBy(2));
                    case "session" -> EventTimeSessionWindows.withGap(size);
                    case "global" -> GlobalWindows.create();
                    default -> throw new IllegalArgumentException("no assigner like this");
                };
        return assigner;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Trigger<Object, Window> trigger(String[] words) {
        Trigger trigger =
                switch (words[0]) {
                    case "event" -> EventTimeTrigger.create();
                    case "count" -> CountTrigger.of(Long.parseLong(words[1]));
                    case "continuous" ->
                            ContinuousEventTimeTrigger.of(
                                    Duration.ofMillis(Long.parseLong(words[1])));
                    case "delta" ->
                            DeltaTrigger.<Long, Window>of(
                                    Double.parseDouble(words[1]),
                                    (older, newer) -> newer - older,
                                    LongSerializer.INSTANCE);
                    default -> throw new IllegalArgumentException("no trigger like this");
                };
        return words[words.length - 1].equals("purging") ? PurgingTrigger.of(trigger) : trigger;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Evictor<Object, Window> evictor(String[] words) {
        boolean isAfter = words[words.length - 1].equals("after");
        long number = Long.parseLong(words[1]);
        Evictor evictor =
                switch (words[0]) {
                    case "count" -> CountEvictor.of(number, isAfter);
                    case "time" -> TimeEvictor.of(Duration.ofMillis(number), isAfter);
                    case "delta" ->
                            DeltaEvictor.of(
                                    (double) number,
                                    (Object element, Object last) -> (Long) last - (Long) element,
                                    isAfter);
                    default -> throw new IllegalArgumentException("no evictor like this");
                };
        return evictor;
    }

    /** Gives rows, each a time and a number, and watermarks, each a time alone, in their order. */
    private static final class RowsOperator extends AbstractStreamOperator<Long>
            implements OneInputStreamOperator<Object, Long> {
        private final List<List<Long>> rows;

        RowsOperator(List<List<Long>> rows) {
            this.rows = new ArrayList<>(rows);
        }

        @Override
        public void open() throws Exception {
            super.open();
            for (List<Long> row : rows) {
                if (row.size() == 1) {
                    output.emitWatermark(new Watermark(row.get(0)));
                } else {
                    output.collect(new StreamRecord<>(row.get(1), row.get(0)));
                }
            }
        }

        @Override
        public void processElement(StreamRecord<Object> element) {}
    }

    /** Says what is in a window, how often it has fired, and how many its key has. */
    private static final class TraceFunction
            extends ProcessWindowFunction<Long, Object, Long, Window> {
        private static final ReducingStateDescriptor<Long> FIRED =
                new ReducingStateDescriptor<>("times-fired", Long::sum, Types.LONG);
        private static final ReducingStateDescriptor<Long> ALL =
                new ReducingStateDescriptor<>("of-key", Long::sum, Types.LONG);

        private final String uid;
        private final boolean isMerging;

        TraceFunction(String uid, boolean isMerging) {
            this.uid = uid;
            this.isMerging = isMerging;
        }

        @Override
        public void process(Long key, Context context, Iterable<Long> elements, Collector<Object> out)
                throws Exception {
            List<Object> contents = new ArrayList<>();
            elements.forEach(contents::add);
            context.globalState().getReducingState(ALL).add(1L);
            Long fired = null;
            if (!isMerging) {
                context.windowState().getReducingState(FIRED).add(1L);
                fired = context.windowState().getReducingState(FIRED).get();
            }
            Rows.add(
                    uid,
                    getRuntimeContext().getTaskInfo().getIndexOfThisSubtask(),
                    "key",
                    key,
                    "window",
                    Json.of(context.window()),
                    "contents",
                    contents,
                    "fired",
                    fired,
                    "all",
                    context.globalState().getReducingState(ALL).get());
        }

        @Override
        public void clear(Context context) throws Exception {
            if (!isMerging) {
                context.windowState().getReducingState(FIRED).clear();
            }
        }
    }

    private static final class LateFunction extends ProcessFunction<Long, Long> {
        private final String uid;

        LateFunction(String uid) {
            this.uid = uid;
        }

        @Override
        public void processElement(Long number, Context context, Collector<Long> out) {
            Rows.add(uid, 0, "key", number % KEYS, "late", number);
        }
    }
}
