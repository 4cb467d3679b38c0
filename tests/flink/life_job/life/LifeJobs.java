package life;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;
import org.apache.flink.util.ExceptionUtils;
import shop.LocalCluster;

/**
 * Runs jobs one after the other, each from a savepoint or from nothing.
 *
 * <p>Arguments: four of each job, which are its kind, the savepoint that it begins with, {@code -} or
 * {@code last}, its parallelism, and the folder of what it takes. {@code flight} counts numbers more slowly than
 * they come, and takes an unaligned checkpoint if it begins with nothing, otherwise a savepoint.
 * {@code union} adds an element to union and list state with each snapshot, and never clears them.
 *
 * <p>Each job answers with a line of JSON: {@code savepoint} and {@code seen}, or {@code error}.
 */
public final class LifeJobs {
    private static final int SLOTS = 4;
    private static final int SOON = 200;
    private static final Map<String, Long> FIRST = new ConcurrentHashMap<>();
    private static final Queue<String> SEEN = new ConcurrentLinkedQueue<>();

    private LifeJobs() {}

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        ObjectMapper json = new ObjectMapper();
        try (LocalCluster cluster =
                LocalCluster.start(Configuration.fromMap(Map.of("rest.port", "0")), SLOTS)) {
            String last = "-";
            for (int i = 0; i < args.length; i += 4) {
                String first = args[i + 1].equals("last") ? last : args[i + 1];
                Map<String, Object> answer = new HashMap<>();
                FIRST.clear();
                SEEN.clear();
                try {
                    last = run(cluster, args[i], first, args[i + 2], args[i + 3]);
                    answer.put("savepoint", last);
                    answer.put("first", new HashMap<>(FIRST));
                    answer.put("seen", args[i].equals("flight") ? List.of() : new ArrayList<>(SEEN));
                } catch (Exception error) {
                    answer.put("error", ExceptionUtils.stringifyException(error));
                }
                answers.println(json.writeValueAsString(answer));
            }
        }
    }

    private static String run(
            LocalCluster cluster, String kind, String savepoint, String parallelism, String target)
            throws Exception {
        Map<String, String> entries = new HashMap<>();
        entries.put("parallelism.default", parallelism);
        entries.put("restart-strategy.type", "none");
        entries.put("pipeline.max-parallelism", "16");
        if (savepoint.equals("-")) {
            entries.put("execution.checkpointing.interval", "1 h");
            entries.put("execution.checkpointing.unaligned.enabled", "true");
            entries.put("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
            entries.put("state.checkpoints.dir", target);
            entries.put("execution.checkpointing.dir", target);
        } else {
            entries.put("execution.savepoint.path", savepoint);
            entries.put("execution.state-recovery.path", savepoint);
        }
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(Configuration.fromMap(entries));
        boolean isFlight = kind.equals("flight");
        if (isFlight) {
            flight(env);
        } else {
            union(env);
        }
        JobGraph graph = env.getStreamGraph().getJobGraph();
        JobID job = graph.getJobID();
        cluster.submit(graph);
        int expected = isFlight ? SOON : Integer.parseInt(parallelism);
        LocalCluster.await(
                "the job does nothing",
                () -> cluster.isRunning(job) && SEEN.size() >= expected);
        String taken =
                isFlight && savepoint.equals("-")
                        ? cluster.checkpoint(job)
                        : cluster.savepoint(job, target, SavepointFormatType.CANONICAL);
        cluster.cancel(job);
        return taken;
    }

    private static void flight(StreamExecutionEnvironment env) {
        env.fromSource(new NumberSequenceSource(1, 1_000_000), WatermarkStrategy.noWatermarks(), "numbers")
                .uid("numbers")
                .setParallelism(2)
                .rebalance()
                .map((MapFunction<Long, Long>) number -> number)
                .returns(Types.LONG)
                .uid("same")
                .keyBy(number -> "key " + number % 10, Types.STRING)
                .process(new Counting())
                .uid("counts")
                .sinkTo(new DiscardingSink<>())
                .uid("end");
    }

    private static void union(StreamExecutionEnvironment env) {
        env.fromSource(new NumberSequenceSource(1, 1_000_000), WatermarkStrategy.noWatermarks(), "numbers")
                .uid("numbers")
                .setParallelism(1)
                .rebalance()
                .map(new Doubling())
                .returns(Types.LONG)
                .uid("doubling")
                .sinkTo(new DiscardingSink<>())
                .uid("end");
    }

    /** Counts the numbers of each key; tells what it has counted before its first one. */
    static final class Counting extends KeyedProcessFunction<String, Long, Long> {
        private transient ValueState<Long> count;

        @Override
        public void processElement(Long number, Context context, Collector<Long> out)
                throws Exception {
            if (count == null) {
                count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
            }
            Long before = count.value();
            FIRST.putIfAbsent(context.getCurrentKey(), before == null ? 0 : before);
            count.update(before == null ? 1 : before + 1);
            SEEN.add("counted");
            Thread.sleep(2);
            out.collect(number);
        }
    }

    /** Tells the elements that a subtask gets. */
    static final class Doubling extends RichMapFunction<Long, Long> implements CheckpointedFunction {
        private transient ListState<String> all;
        private transient ListState<String> some;

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            ListStateDescriptor<String> union = new ListStateDescriptor<>("union", Types.STRING);
            ListStateDescriptor<String> list = new ListStateDescriptor<>("list", Types.STRING);
            all = context.getOperatorStateStore().getUnionListState(union);
            some = context.getOperatorStateStore().getListState(list);
            List<String> elements = new ArrayList<>();
            all.get().forEach(elements::add);
            SEEN.add(String.join(",", elements));
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            all.add("same");
            some.add("same");
        }

        @Override
        public Long map(Long number) throws Exception {
            Thread.sleep(5);
            return number;
        }
    }
}
