package sinks;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.functions.FilterFunction;
import org.apache.flink.api.common.serialization.SimpleStringEncoder;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.core.fs.Path;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.DefaultRollingPolicy;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;
import org.apache.flink.util.ExceptionUtils;
import shop.LocalCluster;

/**
 * Runs jobs that write numbers into files, one job after the other.
 *
 * <p>Arguments: five of each job, which are the savepoint that it begins with or {@code -}, the
 * folder of the files, {@code rolling} where each checkpoint finishes files or {@code open}, how
 * many rows there are to come, and the folder of its own savepoint. Each job answers with a line of
 * JSON: {@code savepoint}, or {@code error}.
 */
public final class SinkJobs {
    private static final AtomicLong EMITTED = new AtomicLong();

    private SinkJobs() {}

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        ObjectMapper json = new ObjectMapper();
        try (LocalCluster cluster =
                LocalCluster.start(Configuration.fromMap(Map.of("rest.port", "0")), 2)) {
            for (int i = 0; i < args.length; i += 5) {
                Map<String, String> answer = new HashMap<>();
                try {
                    long count = Long.parseLong(args[i + 3]);
                    answer.put(
                            "savepoint",
                            run(cluster, args[i], args[i + 1], args[i + 2], count, args[i + 4]));
                } catch (Exception error) {
                    answer.put("error", ExceptionUtils.stringifyException(error));
                }
                answers.println(json.writeValueAsString(answer));
            }
        }
    }

    private static String run(
            LocalCluster cluster,
            String savepoint,
            String folder,
            String rolling,
            long count,
            String target)
            throws Exception {
        Map<String, String> entries = new HashMap<>();
        entries.put("parallelism.default", "2");
        entries.put("restart-strategy.type", "none");
        if (!savepoint.equals("-")) {
            entries.put("execution.savepoint.path", savepoint);
            entries.put("execution.state-recovery.path", savepoint);
        }
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(Configuration.fromMap(entries));
        EMITTED.set(0);
        FileSink.DefaultRowFormatBuilder<String> sink =
                FileSink.forRowFormat(new Path(folder), new SimpleStringEncoder<String>("UTF-8"));
        env.fromSequence(1, Long.MAX_VALUE)
                .uid("numbers")
                .filter(new Paused(count))
                .uid("paused")
                .map(String::valueOf)
                .returns(String.class)
                .uid("texts")
                .sinkTo(
                        rolling.equals("rolling")
                                ? sink.withRollingPolicy(OnCheckpointRollingPolicy.build()).build()
                                : sink.withRollingPolicy(DefaultRollingPolicy.builder().build())
                                        .build())
                .uid("files");
        JobGraph graph = env.getStreamGraph().getJobGraph();
        JobID job = graph.getJobID();
        cluster.submit(graph);
        cluster.awaitRunning(job);
        LocalCluster.await(
                "rows do not come",
                () -> {
                    if (!cluster.isRunning(job)) {
                        cluster.awaitEnd(job);
                    }
                    return EMITTED.get() >= count;
                });
        if (!savepoint.equals("-")) {
            cluster.checkpoint(job);
        }
        String taken = cluster.savepoint(job, target, SavepointFormatType.CANONICAL);
        cluster.cancel(job);
        return taken;
    }

    /** Lets as many rows through in each subtask, and then waits. */
    static final class Paused implements FilterFunction<Long> {
        private final long count;
        private long passed;

        Paused(long count) {
            this.count = count;
        }

        @Override
        public boolean filter(Long number) throws Exception {
            if (passed < count / 2) {
                passed++;
                EMITTED.incrementAndGet();
                return true;
            }
            Thread.sleep(20);
            return false;
        }
    }
}
