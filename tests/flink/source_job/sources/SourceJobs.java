package sources;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.source.hybrid.HybridSource;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.core.fs.Path;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.ExceptionUtils;
import shop.LocalCluster;

/**
 * Runs jobs that read lines of files, one job after the other.
 *
 * <p>Arguments: three of each job, which are the savepoint that it begins with or {@code -}, the
 * folder of the files, and the folder of its own savepoint. Each job answers with a line of JSON:
 * {@code savepoint} and {@code lines}, or {@code error}.
 */
public final class SourceJobs {
    private static final int COUNT = 50;
    private static final Queue<String> LINES = new ConcurrentLinkedQueue<>();

    private SourceJobs() {}

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        ObjectMapper json = new ObjectMapper();
        try (LocalCluster cluster =
                LocalCluster.start(Configuration.fromMap(Map.of("rest.port", "0")), 1)) {
            for (int i = 0; i < args.length; i += 3) {
                Map<String, Object> answer = new HashMap<>();
                try {
                    answer.put("savepoint", run(cluster, args[i], args[i + 1], args[i + 2]));
                    answer.put("lines", new ArrayList<>(LINES));
                } catch (Exception error) {
                    answer.put("error", ExceptionUtils.stringifyException(error));
                }
                answers.println(json.writeValueAsString(answer));
            }
        }
        // A reader of the source that reads files before others may wait for ever after its job ended.
        System.exit(0);
    }

    private static String run(LocalCluster cluster, String savepoint, String folder, String target)
            throws Exception {
        Map<String, String> entries = new HashMap<>();
        entries.put("parallelism.default", "1");
        entries.put("restart-strategy.type", "none");
        if (!savepoint.equals("-")) {
            entries.put("execution.savepoint.path", savepoint);
            entries.put("execution.state-recovery.path", savepoint);
        }
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(Configuration.fromMap(entries));
        LINES.clear();
        FileSource<String> source =
                FileSource.forRecordStreamFormat(new TextLineInputFormat(), new Path(folder)).build();
        env.fromSource(source, WatermarkStrategy.noWatermarks(), "lines")
                .uid("lines")
                .map(new Slow())
                .uid("slow")
                .sinkTo(new DiscardingSink<>())
                .uid("end");
        env.fromSource(new NumberSequenceSource(1, 1_000_000), WatermarkStrategy.noWatermarks(), "numbers")
                .uid("numbers")
                .map(new Wait<Long>())
                .returns(Types.LONG)
                .uid("after-numbers")
                .sinkTo(new DiscardingSink<>())
                .uid("end-of-numbers");
        FileSource<String> first =
                FileSource.forRecordStreamFormat(new TextLineInputFormat(), new Path(folder)).build();
        env.fromSource(HybridSource.builder(first).addSource(source).build(), WatermarkStrategy.noWatermarks(), "hybrid", Types.STRING)
                .uid("hybrid")
                .map(new Wait<String>())
                .returns(Types.STRING)
                .uid("after-hybrid")
                .sinkTo(new DiscardingSink<>())
                .uid("end-of-hybrid");
        JobGraph graph = env.getStreamGraph().getJobGraph();
        JobID job = graph.getJobID();
        cluster.submit(graph);
        cluster.awaitRunning(job);
        LocalCluster.await(
                "lines do not come",
                () -> {
                    if (!cluster.isRunning(job)) {
                        cluster.awaitEnd(job);
                    }
                    return LINES.size() >= COUNT;
                });
        String taken = cluster.savepoint(job, target, SavepointFormatType.CANONICAL);
        cluster.cancel(job);
        return taken;
    }

    /** Lets a savepoint come before the end of a source. */
    static final class Wait<T> implements MapFunction<T, T> {
        @Override
        public T map(T value) throws Exception {
            Thread.sleep(5);
            return value;
        }
    }

    /** Lets a savepoint come before the end of a file. */
    static final class Slow implements MapFunction<String, String> {
        @Override
        public String map(String line) throws Exception {
            LINES.add(line);
            Thread.sleep(5);
            return line;
        }
    }
}
