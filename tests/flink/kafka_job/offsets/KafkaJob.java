package offsets;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import shop.LocalCluster;

/**
 * A job whose source is that of Kafka's connector, in a local cluster; there is no broker.
 *
 * <p>Each line of the standard input is {@code start <folder>}, which begins without state and takes
 * a savepoint, or {@code restore <savepoint>}. The answer is what readers and enumerator got, a fact
 * per line, and an empty line; {@code savepoint <path>} is among the facts of the former.
 */
public final class KafkaJob {
    /** What readers and enumerator got; they run in this JVM. */
    static final ConcurrentLinkedQueue<String> FACTS = new ConcurrentLinkedQueue<>();

    private static final int PARALLELISM = 2;

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        // Flink logs to the standard output, which is not for that here.
        System.setOut(System.err);
        BufferedReader requests =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Configuration configuration = Configuration.fromMap(Map.of("rest.port", "0"));
        try (LocalCluster cluster = LocalCluster.start(configuration, PARALLELISM)) {
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                String[] words = line.split(" ");
                run(cluster, words[0].equals("start"), words[1]);
                FACTS.forEach(answers::println);
                FACTS.clear();
                answers.println();
            }
        }
    }

    private static void run(LocalCluster cluster, boolean isNew, String path) throws Exception {
        JobGraph graph = graph(isNew ? null : path);
        JobID job = graph.getJobID();
        cluster.submit(graph);
        cluster.awaitRunning(job);
        LocalCluster.await(
                "readers get no splits",
                () -> cluster.isRunning(job) && splits() == KafkaSplits.ALL.size());
        if (isNew) {
            String taken = cluster.savepoint(job, path, SavepointFormatType.CANONICAL);
            FACTS.add("savepoint " + taken);
        }
        cluster.cancel(job);
    }

    private static long splits() {
        return FACTS.stream().filter(fact -> fact.startsWith("split ")).count();
    }

    private static JobGraph graph(String savepoint) {
        Map<String, String> entries = new HashMap<>();
        if (savepoint != null) {
            entries.put("execution.state-recovery.path", savepoint);
        }
        entries.put("restart-strategy.type", "none");
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(Configuration.fromMap(entries));
        env.setParallelism(PARALLELISM);
        env.fromSource(new KafkaSplits(), WatermarkStrategy.noWatermarks(), "orders")
                .uid("orders")
                .sinkTo(new DiscardingSink<>())
                .uid("nowhere");
        return env.getStreamGraph().getJobGraph();
    }

    private KafkaJob() {}
}
