package shop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * Runs one job in a local cluster and takes a savepoint or checkpoint when all input is processed.
 *
 * <p>Arguments: the job (currency, states, windows, objects, sql), the folder of the input, a folder that the job
 * watches, the kind of snapshot (canonical, native, checkpoint), the folder for it, the seconds to
 * wait between two checkpoints, then Flink's configuration as key=value. The last line that it
 * prints is the path of the snapshot.
 */
public final class SampleWriter {
    private final LocalCluster cluster;
    private final JobID job;
    private final Path input;
    private final Path inbox;

    private SampleWriter(LocalCluster cluster, JobID job, Path input, Path inbox) {
        this.cluster = cluster;
        this.job = job;
        this.input = input;
        this.inbox = inbox;
    }

    public static void main(String[] args) throws Exception {
        Path input = Path.of(args[1]);
        Path inbox = Path.of(args[2]);
        Duration pause = Duration.ofSeconds(Long.parseLong(args[5]));
        Configuration configuration = configuration(args, 6);
        Files.createDirectories(inbox.resolve("rates"));
        Files.createDirectories(inbox.resolve("transactions"));
        JobGraph graph = jobGraph(args[0], configuration, inbox);
        String snapshot;
        int slots = configuration.get(CoreOptions.DEFAULT_PARALLELISM);
        try (LocalCluster cluster = LocalCluster.start(configuration, slots)) {
            cluster.submit(graph);
            SampleWriter writer = new SampleWriter(cluster, graph.getJobID(), input, inbox);
            writer.deliverRates(configuration);
            snapshot = writer.snapshot(args[3], args[4], pause);
            cluster.cancel(graph.getJobID());
        }
        System.out.println(snapshot);
    }

    private static Configuration configuration(String[] args, int start) {
        Map<String, String> entries = new HashMap<>();
        for (String entry : Arrays.copyOfRange(args, start, args.length)) {
            String[] pair = entry.split("=", 2);
            entries.put(pair[0], pair[1]);
        }
        return Configuration.fromMap(entries);
    }

    private static JobGraph jobGraph(String job, Configuration configuration, Path inbox) {
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        switch (job) {
            case "currency":
                CurrencyJob.define(env, inbox.toString());
                break;
            case "states":
                StatesJob.define(env, inbox.toString());
                break;
            case "windows":
                WindowsJob.define(env, inbox.toString());
                break;
            case "objects":
                ObjectsJob.define(env, inbox.toString());
                break;
            case "sql":
                SqlJob.define(env, inbox.toString());
                break;
            default:
                throw new IllegalArgumentException("no job " + job);
        }
        return env.getStreamGraph().getJobGraph();
    }

    private void deliverRates(Configuration configuration) throws IOException {
        Path rates = input.resolve("rates.csv");
        int subtasks = configuration.get(CoreOptions.DEFAULT_PARALLELISM);
        Progress.missingRates = new CountDownLatch(numberOfLines(rates) * subtasks);
        deliver(rates, "rates");
    }

    /**
     * Delivers the transactions file by file. Checkpoints are taken after each, so that the last
     * one builds upon others; a savepoint stands for itself.
     */
    private String snapshot(String kind, String target, Duration pause) throws Exception {
        String snapshot = null;
        int delivered = 0;
        for (Path file : transactionFiles()) {
            if (snapshot != null) {
                Thread.sleep(pause.toMillis());
            }
            deliver(file, "transactions");
            delivered += numberOfLines(file);
            awaitProcessed(delivered);
            if (kind.equals("checkpoint")) {
                snapshot = cluster.checkpoint(job);
            }
        }
        if (snapshot != null) {
            return snapshot;
        }
        SavepointFormatType format = SavepointFormatType.valueOf(kind.toUpperCase());
        return cluster.savepoint(job, target, format);
    }

    private List<Path> transactionFiles() throws IOException {
        try (Stream<Path> files = Files.list(input)) {
            return files.filter(file -> file.getFileName().toString().startsWith("transactions"))
                    .sorted()
                    .collect(Collectors.toList());
        }
    }

    /** Moves the file in as a whole; the source ignores names with a dot in front. */
    private void deliver(Path file, String folder) throws IOException {
        String name = file.getFileName().toString();
        Path copy = inbox.resolve(folder).resolve("." + name);
        Files.copy(file, copy, StandardCopyOption.REPLACE_EXISTING);
        Files.move(copy, copy.resolveSibling(name), StandardCopyOption.ATOMIC_MOVE);
    }

    private void awaitProcessed(int transactions) throws Exception {
        LocalCluster.await(
                "not all rows were processed",
                () -> cluster.isRunning(job) && Progress.TRANSACTIONS.get() >= transactions);
    }

    private static int numberOfLines(Path file) throws IOException {
        try (Stream<String> lines = Files.lines(file)) {
            return (int) lines.count();
        }
    }
}
