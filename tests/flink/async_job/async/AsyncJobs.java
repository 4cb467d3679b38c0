package async;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.dag.Transformation;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.source.legacy.SourceFunction;
import org.apache.flink.util.ExceptionUtils;
import shop.LocalCluster;

/**
 * Runs jobs whose state is asynchronous, one after the other.
 *
 * <p>Arguments: four of each job, which are the savepoint that it begins with or {@code -}, the
 * state backend, {@code async} or {@code sync}, and the folder of its own savepoint. Each job
 * answers with a line of JSON: {@code rows}, the rows that its queries gave, and {@code savepoint},
 * the path of the native one that it took; or {@code error}.
 */
public final class AsyncJobs {
    static final int KEYS = 40;
    private static final AtomicInteger EMITTED = new AtomicInteger();

    private AsyncJobs() {}

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        ObjectMapper json = new ObjectMapper();
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        // The sinks print.
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try (LocalCluster cluster =
                LocalCluster.start(Configuration.fromMap(Map.of("rest.port", "0")), 4)) {
            for (int i = 0; i < args.length; i += 4) {
                Map<String, Object> answer = new HashMap<>();
                printed.reset();
                try {
                    answer.put(
                            "savepoint",
                            run(cluster, args[i], args[i + 1], args[i + 2], args[i + 3]));
                    answer.put("rows", rows(printed.toString(StandardCharsets.UTF_8)));
                } catch (Exception error) {
                    answer.put("error", ExceptionUtils.stringifyException(error));
                }
                answers.println(json.writeValueAsString(answer));
            }
        }
    }

    private static String run(
            LocalCluster cluster, String savepoint, String backend, String mode, String folder)
            throws Exception {
        boolean isAsync = mode.equals("async");
        boolean isFirst = savepoint.equals("-");
        Map<String, String> entries = new HashMap<>();
        entries.put("state.backend.type", backend);
        entries.put("parallelism.default", "2");
        entries.put("pipeline.max-parallelism", "128");
        entries.put("restart-strategy.type", "none");
        entries.put("table.exec.async-state.enabled", String.valueOf(isAsync));
        entries.put("table.exec.state.ttl", "100 d");
        entries.put("table.exec.uid.generation", "DISABLED");
        entries.put("table.local-time-zone", "UTC");
        if (!isFirst) {
            entries.put("execution.state-recovery.path", savepoint);
            // The function of states is asynchronous alone.
            entries.put(
                    "execution.state-recovery.ignore-unclaimed-state", String.valueOf(!isAsync));
        }
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(Configuration.fromMap(entries));
        EMITTED.set(0);
        if (isAsync) {
            States.define(env, isFirst);
        }
        Queries.define(env, isFirst);
        setUids(env);
        JobGraph graph = env.getStreamGraph().getJobGraph();
        JobID job = graph.getJobID();
        cluster.submit(graph);
        cluster.awaitRunning(job);
        LocalCluster.await("sources do not end", () -> EMITTED.get() == (isAsync ? 3 : 2));
        // All rows are in front of its barrier.
        String taken = cluster.savepoint(job, folder, SavepointFormatType.NATIVE);
        cluster.cancel(job);
        return taken;
    }

    /** The planner numbers operators by what it has planned before in this JVM. */
    private static void setUids(StreamExecutionEnvironment env) {
        Map<String, Integer> counts = new HashMap<>();
        for (Transformation<?> sink : env.getTransformations()) {
            for (Transformation<?> operator : sink.getTransitivePredecessors()) {
                if (operator.getUid() == null) {
                    String name = operator.getName().replaceFirst("\\[\\d+\\]", "");
                    operator.setUid(name + " " + counts.merge(name, 1, Integer::sum));
                }
            }
        }
    }

    private static List<String> rows(String printed) {
        return printed.lines()
                .filter(line -> line.matches("[a-z]+(:\\d+)?> [+-].*"))
                .map(line -> line.replaceFirst("(:\\d+)?>", ">"))
                .sorted()
                .toList();
    }

    /** Gives rows, and then waits. */
    static final class Given<T> implements SourceFunction<T> {
        private final List<T> rows;
        private volatile boolean isCancelled;

        Given(List<T> rows) {
            this.rows = rows;
        }

        @Override
        public void run(SourceContext<T> context) throws Exception {
            rows.forEach(context::collect);
            EMITTED.incrementAndGet();
            while (!isCancelled) {
                Thread.sleep(20);
            }
        }

        @Override
        public void cancel() {
            isCancelled = true;
        }
    }
}
