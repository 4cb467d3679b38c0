package peer;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFilterFunction;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/**
 * The function of sessions.py: one source gives all rows in their order.
 *
 * <p>Arguments: {@code BATCH} or {@code STREAMING}, rows, keys, rows and keys of a job before that, then
 * Flink's configuration. Prints a line per job: sessions, their cents, its milliseconds, and the
 * milliseconds of CPU of this JVM meanwhile.
 */
public final class Sessions {
    private static final long MINUTE = 60_000;
    private static final long GAP = 30 * MINUTE;
    private static final long JITTER = 20 * MINUTE;
    private static final TypeInformation<Tuple3<Long, Long, Long>> LONGS =
            Types.TUPLE(Types.LONG, Types.LONG, Types.LONG);

    private Sessions() {}

    public static void main(String[] arguments) throws Exception {
        Configuration configuration = Settings.of(arguments, 5);
        RuntimeExecutionMode mode = RuntimeExecutionMode.valueOf(arguments[0]);
        for (int first = 3; first >= 1; first -= 2) {
            long rows = Long.parseLong(arguments[first]);
            run(mode, rows, Long.parseLong(arguments[first + 1]), configuration);
        }
    }

    private static void run(
            RuntimeExecutionMode mode, long rows, long keys, Configuration configuration)
            throws Exception {
        StreamExecutionEnvironment environment = Settings.environment(configuration);
        environment.setRuntimeMode(mode);
        WatermarkStrategy<Tuple3<Long, Long, Long>> watermarks =
                WatermarkStrategy.<Tuple3<Long, Long, Long>>forBoundedOutOfOrderness(
                                Duration.ofMillis(JITTER))
                        .withTimestampAssigner((row, before) -> row.f1);
        environment
                .fromSequence(0, rows - 1)
                .setParallelism(1)
                .map(index -> row(index, keys))
                .returns(LONGS)
                .setParallelism(1)
                .assignTimestampsAndWatermarks(watermarks)
                .setParallelism(1)
                .keyBy(row -> row.f0, Types.LONG)
                .process(new Sessionizing())
                .filter(new Totals())
                .sinkTo(new DiscardingSink<>());
        OperatingSystemMXBean system =
                (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long before = system.getProcessCpuTime();
        JobExecutionResult job = environment.execute();
        long nanoseconds = system.getProcessCpuTime() - before;
        System.out.printf(
                "%s %s %s %s%n",
                job.getAccumulatorResult("sessions").toString(),
                job.getAccumulatorResult("cents").toString(),
                job.getNetRuntime(),
                nanoseconds / 1_000_000);
    }

    /** A row of sessions.py: user, time and cents. */
    private static Tuple3<Long, Long, Long> row(long index, long keys) {
        long round = index / keys + 1;
        long at = round * GAP + index * 40_503 % JITTER;
        return Tuple3.of((index * 7_919 + 13) % keys, at, index % 1_000);
    }

    /** End, rows and cents of the open session of each user. */
    private static final class Sessionizing
            extends KeyedProcessFunction<Long, Tuple3<Long, Long, Long>, Tuple3<Long, Long, Long>> {
        private transient ValueState<Tuple3<Long, Long, Long>> open;

        @Override
        public void open(OpenContext context) {
            open = getRuntimeContext().getState(new ValueStateDescriptor<>("open", LONGS));
        }

        @Override
        public void processElement(
                Tuple3<Long, Long, Long> row, Context context, Collector<Tuple3<Long, Long, Long>> out)
                throws Exception {
            Tuple3<Long, Long, Long> session = open.value();
            if (session != null) {
                context.timerService().deleteEventTimeTimer(session.f0);
                if (row.f1 >= session.f0) {
                    out.collect(Tuple3.of(context.getCurrentKey(), session.f1, session.f2));
                    session = null;
                }
            }
            long count = session == null ? 0 : session.f1;
            long cents = session == null ? 0 : session.f2;
            open.update(Tuple3.of(row.f1 + GAP, count + 1, cents + row.f2));
            context.timerService().registerEventTimeTimer(row.f1 + GAP);
        }

        @Override
        public void onTimer(
                long timestamp, OnTimerContext context, Collector<Tuple3<Long, Long, Long>> out)
                throws Exception {
            Tuple3<Long, Long, Long> session = open.value();
            out.collect(Tuple3.of(context.getCurrentKey(), session.f1, session.f2));
            open.clear();
        }
    }

    /** Adds all sessions up; lets none pass. */
    private static final class Totals extends RichFilterFunction<Tuple3<Long, Long, Long>> {
        private final LongCounter sessions = new LongCounter();
        private final LongCounter cents = new LongCounter();

        @Override
        public void open(OpenContext context) {
            getRuntimeContext().addAccumulator("sessions", sessions);
            getRuntimeContext().addAccumulator("cents", cents);
        }

        @Override
        public boolean filter(Tuple3<Long, Long, Long> session) {
            sessions.add(1L);
            cents.add(session.f2);
            return false;
        }
    }
}
