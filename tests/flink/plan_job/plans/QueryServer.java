package plans;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.environment.RemoteStreamEnvironment;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.PlanReference;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.util.ExceptionUtils;
import shop.LocalCluster;

/**
 * Compiles plans, and runs them over halves of their input, one job after the other in one cluster.
 *
 * <p>Each line of the standard input is JSON. One with {@code queries} names a folder for {@link CompilePlans}.
 * Others are jobs: {@code plan}, {@code from} and {@code to} ({@code start}, {@code half}, {@code end}), {@code
 * savepoint} to begin with and {@code target} to end with, both perhaps null, {@code sources}, the number of
 * tables that it reads, and {@code backend}. The answer is a line: the {@code rows} and {@code savepoint} of a
 * job, or {@code error}.
 */
public final class QueryServer {
    private static final List<String> ROWS = new ArrayList<>();
    private static final Set<String> READ = new HashSet<>();

    private QueryServer() {}

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        // Flink logs to the standard output, which is not for that here.
        System.setOut(System.err);
        ObjectMapper json = new ObjectMapper();
        BufferedReader requests =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (LocalCluster cluster =
                LocalCluster.start(Configuration.fromMap(Map.of("rest.port", "0")), 1)) {
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                answers.println(json.writeValueAsString(answer(cluster, json.readTree(line))));
            }
        }
        System.exit(0);
    }

    private static Map<String, Object> answer(LocalCluster cluster, JsonNode asked) {
        Map<String, Object> answer = new HashMap<>();
        try {
            if (asked.has("queries")) {
                CompilePlans.compile(Path.of(asked.get("queries").asText()));
            } else {
                answer.put("savepoint", run(cluster, asked));
            }
        } catch (Exception error) {
            answer.put("error", ExceptionUtils.stringifyException(error));
        }
        synchronized (ROWS) {
            answer.put("rows", new ArrayList<>(ROWS));
        }
        return answer;
    }

    static void read(String file) {
        synchronized (READ) {
            READ.add(file);
        }
    }

    static String emitted(String row) {
        synchronized (ROWS) {
            ROWS.add(row);
        }
        return row;
    }

    private static String run(LocalCluster cluster, JsonNode asked) throws Exception {
        synchronized (ROWS) {
            ROWS.clear();
        }
        synchronized (READ) {
            READ.clear();
        }
        RowsSource.beginsAtHalf = asked.get("from").asText().equals("half");
        RowsSource.endsAtHalf = asked.get("to").asText().equals("half");
        Map<String, String> entries = new HashMap<>();
        entries.put("parallelism.default", "1");
        entries.put("restart-strategy.type", "none");
        entries.put("state.backend.type", asked.get("backend").asText());
        entries.put("state.backend", asked.get("backend").asText());
        if (asked.hasNonNull("savepoint")) {
            entries.put("execution.savepoint.path", asked.get("savepoint").asText());
            entries.put("execution.state-recovery.path", asked.get("savepoint").asText());
        }
        URI address = cluster.restAddress();
        StreamExecutionEnvironment env =
                new RemoteStreamEnvironment(
                        address.getHost(), address.getPort(), Configuration.fromMap(entries));
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        Path plan = Path.of(asked.get("plan").asText());
        JobClient job =
                tables.loadPlan(PlanReference.fromFile(plan)).execute().getJobClient().get();
        try {
            return end(cluster, job, asked);
        } catch (Exception error) {
            job.cancel();
            throw error;
        }
    }

    /** Waits for the end of the input, or stops behind the first half; returns the savepoint, if any. */
    private static String end(LocalCluster cluster, JobClient job, JsonNode asked)
            throws Exception {
        if (!RowsSource.endsAtHalf) {
            job.getJobExecutionResult().get();
            return null;
        }
        int sources = asked.get("sources").asInt();
        cluster.awaitRunning(job.getJobID());
        LocalCluster.await("rows do not come", () -> readCount() == sources);
        return job.stopWithSavepoint(
                        false, asked.get("target").asText(), SavepointFormatType.CANONICAL)
                .get();
    }

    private static int readCount() {
        synchronized (READ) {
            return READ.size();
        }
    }
}
