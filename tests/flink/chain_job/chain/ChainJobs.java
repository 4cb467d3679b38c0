package chain;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.FlatMapFunction;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;
import shop.LocalCluster;

/**
 * Chains of retained checkpoints: the same number of elements between each and the next.
 *
 * <p>Arguments: six of each job, which are its backend, its parallelism, the checkpoint that it begins
 * with, {@code -} or {@code last}, how many checkpoints it takes, the number of the checkpoint from
 * which on it leaks, 0 for never, and the folder of its checkpoints. Numbers of checkpoints go on from
 * one job to the next that begins with {@code last}.
 *
 * <p>Properties of Java: {@code batch}, the number of elements between checkpoints, and {@code keys}.
 *
 * <p>A line of JSON for each checkpoint: {@code path}, and {@code leaked}, the number of values that
 * will never be removed.
 */
public final class ChainJobs {
    private static final int SLOTS = 4;
    private static final int BATCH = Integer.getInteger("batch", 600);
    private static final int KEYS = Integer.getInteger("keys", 1500);
    private static final int FADING_MS = 1;
    private static final long NEVER = 4_102_444_800_000L;
    private static final Semaphore PERMITS = new Semaphore(0);
    private static final AtomicLong NUMBER = new AtomicLong();
    private static final AtomicLong PROCESSED = new AtomicLong();
    private static volatile boolean isLeaking;

    private ChainJobs() {}

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        ObjectMapper json = new ObjectMapper();
        try (LocalCluster cluster =
                LocalCluster.start(
                        Configuration.fromMap(
                                Map.of(
                                        "rest.port", "0",
                                        "execution.checkpointing.num-retained", "100")),
                        SLOTS)) {
            String last = "-";
            long leaked = 0;
            int round = 0;
            for (int i = 0; i < args.length; i += 6) {
                String first = args[i + 2].equals("last") ? last : args[i + 2];
                if (first.equals("-")) {
                    NUMBER.set(0);
                    leaked = 0;
                    round = 0;
                }
                PROCESSED.set(0);
                JobGraph graph = graph(args[i], args[i + 1], first, args[i + 5]);
                JobID job = graph.getJobID();
                cluster.submit(graph);
                cluster.awaitRunning(job);
                int leaksFrom = Integer.parseInt(args[i + 4]);
                int count = Integer.parseInt(args[i + 3]);
                for (int taken = 1; taken <= count; taken++) {
                    round++;
                    isLeaking = leaksFrom > 0 && round >= leaksFrom;
                    leaked += isLeaking ? BATCH : 0;
                    long expected = (long) taken * BATCH;
                    PERMITS.release(BATCH);
                    LocalCluster.await(
                            "a batch is not processed",
                            () -> cluster.isRunning(job) && PROCESSED.get() >= expected);
                    last = cluster.checkpoint(job);
                    Map<String, Object> answer = new HashMap<>();
                    answer.put("path", last);
                    answer.put("leaked", leaked);
                    answers.println(json.writeValueAsString(answer));
                }
                cluster.cancel(job);
            }
        }
    }

    private static JobGraph graph(String backend, String parallelism, String first, String target)
            throws Exception {
        Map<String, String> entries = new HashMap<>();
        entries.put("parallelism.default", parallelism);
        entries.put("pipeline.max-parallelism", "64");
        entries.put("restart-strategy.type", "none");
        entries.put("state.backend.type", backend);
        entries.put("execution.checkpointing.incremental", "true");
        // The first one is taken at a random time within it.
        entries.put("execution.checkpointing.interval", "365 d");
        entries.put(
                "execution.checkpointing.externalized-checkpoint-retention",
                "RETAIN_ON_CANCELLATION");
        entries.put("execution.checkpointing.dir", target);
        entries.put("execution.checkpointing.data-inline-threshold", "0 b");
        if (!first.equals("-")) {
            entries.put("execution.state-recovery.path", first);
        }
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(Configuration.fromMap(entries));
        env.fromSource(
                        new NumberSequenceSource(1, Long.MAX_VALUE / 2),
                        WatermarkStrategy.noWatermarks(),
                        "ticks")
                .uid("ticks")
                .setParallelism(1)
                .flatMap(new Batches())
                .returns(Types.LONG)
                .uid("batches")
                .setParallelism(1)
                .keyBy(number -> number % KEYS, Types.LONG)
                .process(new Orders())
                .returns(Types.LONG)
                .uid("orders")
                .sinkTo(new DiscardingSink<>())
                .uid("end");
        return env.getStreamGraph().getJobGraph();
    }

    /** Lets as many numbers pass as there are permits; without one it waits a little, and never blocks. */
    private static final class Batches implements FlatMapFunction<Long, Long> {
        @Override
        public void flatMap(Long tick, Collector<Long> out) throws Exception {
            if (PERMITS.tryAcquire()) {
                out.collect(NUMBER.getAndIncrement());
            } else {
                Thread.sleep(1);
            }
        }
    }

    /** States that a healthy job has, and one that leaks. */
    private static final class Orders extends KeyedProcessFunction<Long, Long, Long> {
        private transient ValueState<String> latest;
        private transient MapState<Long, String> open;
        private transient MapState<Long, String> closed;
        private transient MapState<Long, String> fading;

        @Override
        public void open(org.apache.flink.api.common.functions.OpenContext context) {
            // It grows until each key has come once.
            latest = getRuntimeContext().getState(new ValueStateDescriptor<>("latest", Types.STRING));
            // As many entries as before, unless the job leaks.
            open =
                    getRuntimeContext()
                            .getMapState(new MapStateDescriptor<>("open", Types.LONG, Types.STRING));
            // It is cleaned each time that it has grown for some time.
            closed =
                    getRuntimeContext()
                            .getMapState(new MapStateDescriptor<>("closed", Types.LONG, Types.STRING));
            // Values expire at once, and are cleaned when RocksDB compacts its tables.
            MapStateDescriptor<Long, String> timed =
                    new MapStateDescriptor<>("fading", Types.LONG, Types.STRING);
            timed.enableTimeToLive(
                    StateTtlConfig.newBuilder(java.time.Duration.ofMillis(FADING_MS))
                            .cleanupFullSnapshot()
                            .cleanupInRocksdbCompactFilter(1)
                            .build());
            fading = getRuntimeContext().getMapState(timed);
        }

        @Override
        public void processElement(Long number, Context context, Collector<Long> out)
                throws Exception {
            String text = String.format("an order of some length, number %09d", number);
            latest.update(text);
            open.put(number % 3, text);
            if (isLeaking) {
                open.put(number + KEYS, text);
            }
            closed.put(number, text);
            // Each key comes again after two and a half batches.
            if (number / KEYS % 4 == 3) {
                closed.clear();
            }
            fading.put(number, text);
            // Most timers fire at once, and leave a deletion behind; those of some keys never fire.
            long now = context.timerService().currentProcessingTime();
            context.timerService().registerProcessingTimeTimer(number % 10 == 0 ? NEVER : now + 1);
            PROCESSED.incrementAndGet();
        }

        @Override
        public void onTimer(long time, OnTimerContext context, Collector<Long> out) {}
    }
}
