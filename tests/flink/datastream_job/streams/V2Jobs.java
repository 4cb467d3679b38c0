package streams;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.state.AggregatingStateDeclaration;
import org.apache.flink.api.common.state.ListStateDeclaration;
import org.apache.flink.api.common.state.MapStateDeclaration;
import org.apache.flink.api.common.state.ReducingStateDeclaration;
import org.apache.flink.api.common.state.StateDeclaration;
import org.apache.flink.api.common.state.StateDeclarations;
import org.apache.flink.api.common.state.ValueStateDeclaration;
import org.apache.flink.api.common.typeinfo.TypeDescriptors;
import org.apache.flink.api.connector.dsv2.DataStreamV2SourceUtils;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.datastream.api.common.Collector;
import org.apache.flink.datastream.api.context.PartitionedContext;
import org.apache.flink.datastream.api.context.StateManager;
import org.apache.flink.datastream.api.function.OneInputStreamProcessFunction;
import org.apache.flink.datastream.impl.ExecutionEnvironmentImpl;
import org.apache.flink.runtime.jobgraph.JobGraph;
import shop.LocalCluster;

/**
 * Takes savepoints of jobs of the DataStream API V2, with a state of each kind and timers.
 *
 * <p>Arguments: a folder for savepoints, then a state backend and a form for each, as rocksdb-NATIVE. It
 * prints the path of each savepoint.
 */
public final class V2Jobs {
    private static final int KEYS = 40;
    private static final long FAR_FUTURE = 4_102_444_800_000L;
    private static final AtomicInteger PROCESSED = new AtomicInteger();

    private V2Jobs() {}

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (int index = 1; index < args.length; index++) {
            String[] variant = args[index].split("-");
            answers.println(savepoint(variant[0], variant[1], args[0]));
        }
    }

    private static String savepoint(String backend, String form, String folder) throws Exception {
        Configuration configuration =
                Configuration.fromMap(
                        Map.of(
                                "rest.port", "0",
                                "parallelism.default", "2",
                                "pipeline.max-parallelism", "128",
                                "state.backend.type", backend));
        ExecutionEnvironmentImpl env =
                (ExecutionEnvironmentImpl) ExecutionEnvironmentImpl.newInstance();
        env.getConfiguration().addAll(configuration);
        env.setParallelism(2);
        env.fromSource(
                        DataStreamV2SourceUtils.wrapSource(
                                new NumberSequenceSource(0, Long.MAX_VALUE)),
                        "numbers")
                .withUid("numbers")
                .withParallelism(1)
                .process(new Paused())
                .withUid("paused")
                .withParallelism(1)
                .keyBy(number -> number % KEYS)
                .process(new Keeper())
                .withUid("keeper");
        PROCESSED.set(0);
        JobGraph graph = env.getStreamGraph().getJobGraph();
        JobID job = graph.getJobID();
        try (LocalCluster cluster = LocalCluster.start(configuration, 2)) {
            cluster.submit(graph);
            cluster.awaitRunning(job);
            LocalCluster.await("keys do not come", () -> PROCESSED.get() >= 2 * KEYS);
            String taken;
            try {
                taken = cluster.savepoint(job, folder, SavepointFormatType.valueOf(form));
            } catch (ExecutionException error) {
                // What the job failed with says more.
                cluster.awaitEnd(job);
                throw error;
            }
            cluster.cancel(job);
            return taken;
        }
    }

    /** Lets as many numbers through as the keys need, and then waits. */
    private static final class Paused implements OneInputStreamProcessFunction<Long, Long> {
        @Override
        public void processRecord(
                Long number, Collector<Long> output, PartitionedContext<Long> context)
                throws Exception {
            if (number < 2 * KEYS) {
                output.collect(number);
            } else {
                Thread.sleep(20);
            }
        }
    }

    /** Has a state of each kind. */
    private static final class Keeper implements OneInputStreamProcessFunction<Long, String> {
        private static final ValueStateDeclaration<String> LATEST =
                StateDeclarations.valueState("latest", TypeDescriptors.STRING);
        private static final ListStateDeclaration<Long> ALL =
                StateDeclarations.listState("all", TypeDescriptors.LONG);
        private static final MapStateDeclaration<String, Double> BY_NAME =
                StateDeclarations.mapState("by_name", TypeDescriptors.STRING, TypeDescriptors.DOUBLE);
        private static final ReducingStateDeclaration<Long> MOST =
                StateDeclarations.reducingState("most", TypeDescriptors.LONG, Math::max);
        private static final AggregatingStateDeclaration<Long, Long, String> SUM =
                StateDeclarations.aggregatingState("sum", TypeDescriptors.LONG, new Sum());

        @Override
        public Set<StateDeclaration> usesStates() {
            return Set.of(LATEST, ALL, BY_NAME, MOST, SUM);
        }

        @Override
        public void processRecord(
                Long number, Collector<String> output, PartitionedContext<String> context)
                throws Exception {
            StateManager states = context.getStateManager();
            states.getState(LATEST).update("number " + number);
            if (number % 5 > 0) {
                states.getState(ALL).addAll(List.of(number, -number));
            }
            states.getState(BY_NAME).put("n" + number, number / 2.0);
            states.getState(MOST).add(number);
            states.getState(SUM).add(number);
            context.getProcessingTimeManager().registerTimer(FAR_FUTURE + number);
            PROCESSED.incrementAndGet();
        }
    }

    private static final class Sum implements AggregateFunction<Long, Long, String> {
        @Override
        public Long createAccumulator() {
            return 0L;
        }

        @Override
        public Long add(Long number, Long sum) {
            return sum + number;
        }

        @Override
        public String getResult(Long sum) {
            return sum.toString();
        }

        @Override
        public Long merge(Long one, Long other) {
            return one + other;
        }
    }
}
