package ddl;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;
import org.apache.flink.state.api.OperatorIdentifier;
import org.apache.flink.state.api.OperatorTransformation;
import org.apache.flink.state.api.SavepointWriter;
import org.apache.flink.state.api.StateBootstrapTransformation;
import org.apache.flink.state.api.WindowedStateTransformation;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.GlobalWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.triggers.ContinuousEventTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.CountTrigger;
import org.apache.flink.streaming.api.windowing.triggers.PurgingTrigger;
import org.apache.flink.streaming.api.windowing.windows.Window;
import org.apache.flink.util.Collector;

/**
 * Makes windows of rows with the State Processor API. The arguments are the savepoint's path, the
 * number of keys, and then the times of rows: the n-th row is the number n.
 */
public final class WindowedState {

    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment job = StreamExecutionEnvironment.getExecutionEnvironment();
        job.setParallelism(1);
        long keys = Long.parseLong(arguments[1]);
        List<Long> numbers = new ArrayList<>();
        long[] times = new long[arguments.length - 2];
        for (int n = 0; n < times.length; n++) {
            numbers.add((long) n);
            times[n] = Long.parseLong(arguments[n + 2]);
        }
        DataStream<Long> rows = job.fromData(numbers, Types.LONG);
        Duration size = Duration.ofMillis(100);
        SavepointWriter.newSavepoint(job, new HashMapStateBackend(), 128)
                .withOperator(
                        OperatorIdentifier.forUid("tumbling"),
                        windows(rows, times, keys, TumblingEventTimeWindows.of(size))
                                .reduce(Long::sum))
                .withOperator(
                        OperatorIdentifier.forUid("sliding"),
                        windows(rows, times, keys, SlidingEventTimeWindows.of(size, size))
                                .trigger(ContinuousEventTimeTrigger.of(size.dividedBy(3)))
                                .reduce(Long::sum))
                .withOperator(
                        OperatorIdentifier.forUid("session"),
                        elements(windows(rows, times, keys, EventTimeSessionWindows.withGap(size))))
                .withOperator(
                        OperatorIdentifier.forUid("counted"),
                        elements(
                                windows(rows, times, keys, GlobalWindows.create())
                                        .trigger(PurgingTrigger.of(CountTrigger.of(30)))))
                .write(arguments[0]);
        job.execute();
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static WindowedStateTransformation<Long, Long, Window> windows(
            DataStream<Long> rows, long[] times, long keys, WindowAssigner assigner) {
        return OperatorTransformation.bootstrapWith(
                        rows.assignTimestampsAndWatermarks(
                                WatermarkStrategy.<Long>forMonotonousTimestamps()
                                        .withTimestampAssigner(
                                                (number, before) -> times[number.intValue()])))
                .keyBy(number -> number % keys, Types.LONG)
                .window(assigner);
    }

    private static StateBootstrapTransformation<Long> elements(
            WindowedStateTransformation<Long, Long, Window> windows) {
        return windows.process(
                new ProcessWindowFunction<Long, Long, Long, Window>() {
                    @Override
                    public void process(
                            Long key, Context context, Iterable<Long> found, Collector<Long> out) {
                        found.forEach(out::collect);
                    }
                });
    }

    private WindowedState() {}
}
