package restore;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.util.ExceptionUtils;
import shop.LocalCluster;

/**
 * Restores savepoints in a local cluster, one after the other.
 *
 * <p>Arguments: the slots of the cluster, and an empty folder. Each line of the standard input is a
 * {@link Request} in JSON, and each of the output the answer: {@code rows}, with {@code savepoint},
 * the path of the one that was taken, or {@code error}.
 */
public final class RestoreServer {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final LocalCluster cluster;
    private final String inbox;

    private RestoreServer(LocalCluster cluster, String inbox) {
        this.cluster = cluster;
        this.inbox = inbox;
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        // Flink logs to the standard output, which is not for that here.
        System.setOut(System.err);
        BufferedReader requests =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Configuration configuration = Configuration.fromMap(Map.of("rest.port", "0"));
        try (LocalCluster cluster =
                LocalCluster.start(configuration, Integer.parseInt(args[0]))) {
            RestoreServer server = new RestoreServer(cluster, args[1]);
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                Request request = MAPPER.readValue(line, Request.class);
                answers.println(MAPPER.writeValueAsString(server.answer(request)));
            }
        }
    }

    private Map<String, Object> answer(Request request) {
        Map<String, Object> answer = new HashMap<>();
        try {
            answer.put("savepoint", run(request));
            answer.put("rows", Rows.take());
        } catch (Exception error) {
            Rows.take();
            answer.put("error", ExceptionUtils.stringifyException(error));
        }
        return answer;
    }

    /** The path of the savepoint that it took, or null. */
    private String run(Request request) throws Exception {
        JobGraph graph = RestoreJob.graph(request, inbox);
        JobID job = graph.getJobID();
        cluster.submit(graph);
        if (request.ends()) {
            cluster.awaitEnd(job);
            return null;
        }
        cluster.awaitRunning(job);
        Rows.await(request.awaits());
        String savepoint = request.resave() == null ? null : savepoint(job, request);
        cluster.cancel(job);
        return savepoint;
    }

    private String savepoint(JobID job, Request request) throws Exception {
        SavepointFormatType format = SavepointFormatType.valueOf(request.format().toUpperCase());
        return cluster.savepoint(job, request.resave(), format);
    }
}
