package jobs;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.ExceptionUtils;
import shop.LocalCluster;

/**
 * Runs one job after the other, in a local cluster; both releases of Flink share this class.
 *
 * <p>A line of the standard input is a command, its answer is a line.
 */
public final class Jobs {
    /** Rows that the counting function has seen; it runs in this JVM. */
    static final AtomicLong COUNTED = new AtomicLong();

    private final LocalCluster cluster;
    private final Program program;
    private JobID job;

    /** A job, made of words: the address of the broker, the topic to read, and others. */
    public interface Program {
        void define(StreamExecutionEnvironment env, String[] words) throws Exception;
    }

    private Jobs(LocalCluster cluster, Program program) {
        this.cluster = cluster;
        this.program = program;
    }

    public static void serve(Program program) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader requests =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Configuration configuration = Configuration.fromMap(Map.of("rest.port", "0"));
        try (LocalCluster cluster = LocalCluster.start(configuration, 4)) {
            Jobs jobs = new Jobs(cluster, program);
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                String answer;
                try {
                    answer = jobs.answer(line.split(" "));
                } catch (Throwable error) {
                    error.printStackTrace();
                    answer = "error " + ExceptionUtils.stringifyException(error);
                }
                answers.println(answer.replace('\n', ' '));
            }
        }
    }

    private String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "start":
                return start(words);
            case "await":
                long count = Long.parseLong(words[1]);
                LocalCluster.await(
                        "too few rows",
                        () -> cluster.isRunning(job) && COUNTED.get() >= count);
                return "ok";
            case "counted":
                return "" + COUNTED.get();
            case "checkpoint":
                return cluster.checkpoint(job);
            case "savepoint":
                SavepointFormatType format = SavepointFormatType.valueOf(words[2]);
                return cluster.savepoint(job, words[1], format);
            case "stop":
                return cluster.stop(job, words[1], SavepointFormatType.CANONICAL);
            case "cancel":
                cluster.cancel(job);
                return "ok";
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    /** Words: where it begins or {@code -}, parallelism, folder of checkpoints, those of the program. */
    private String start(String[] words) throws Exception {
        Map<String, String> entries = new HashMap<>();
        entries.put("parallelism.default", words[2]);
        entries.put("restart-strategy.type", "none");
        entries.put("state.backend.type", "rocksdb");
        entries.put("state.backend.incremental", "true");
        entries.put("execution.checkpointing.incremental", "true");
        entries.put("execution.checkpointing.interval", "1 h");
        entries.put("state.checkpoints.dir", words[3]);
        entries.put("execution.checkpointing.dir", words[3]);
        entries.put(
                "execution.checkpointing.externalized-checkpoint-retention",
                "RETAIN_ON_CANCELLATION");
        if (!words[1].equals("-")) {
            entries.put("execution.savepoint.path", words[1]);
            entries.put("execution.state-recovery.path", words[1]);
        }
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(Configuration.fromMap(entries));
        COUNTED.set(0);
        String[] own = new String[words.length - 4];
        System.arraycopy(words, 4, own, 0, own.length);
        program.define(env, own);
        JobGraph graph = env.getStreamGraph().getJobGraph();
        job = graph.getJobID();
        cluster.submit(graph);
        cluster.awaitRunning(job);
        return "ok";
    }

    /** Number -> key, count of the key, and number. */
    public static final class Counting extends RichMapFunction<String, String>
            implements CheckpointedFunction {
        private transient ValueState<Long> count;

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            count =
                    context.getKeyedStateStore()
                            .getState(new ValueStateDescriptor<>("count", Long.class));
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) {}

        @Override
        public String map(String number) throws Exception {
            Long before = count.value();
            long next = before == null ? 1 : before + 1;
            count.update(next);
            COUNTED.incrementAndGet();
            return keyOf(number) + " " + next + " " + number;
        }
    }

    public static long keyOf(String number) {
        return Long.parseLong(number) % 7;
    }
}
