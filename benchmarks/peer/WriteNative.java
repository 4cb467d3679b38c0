package peer;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.legacy.RichParallelSourceFunction;
import org.apache.flink.util.Collector;

/**
 * Runs a job in a local cluster and takes a native savepoint when all keys have been seen.
 *
 * <p>Arguments: the folder for it, the number of keys, then Flink's configuration. The last line
 * that it prints is the path of the savepoint.
 */
public final class WriteNative {
    private static final Duration PAUSE = Duration.ofMillis(100);

    /** Keys that the subtasks, all of this JVM, have put into state. */
    private static final AtomicLong SEEN = new AtomicLong();

    private WriteNative() {}

    public static void main(String[] arguments) throws Exception {
        long keys = Long.parseLong(arguments[1]);
        Configuration configuration = Settings.of(arguments, 2);
        JobGraph graph = graph(Settings.environment(configuration), keys);
        JobID job = graph.getJobID();
        ClassLoader loader = WriteNative.class.getClassLoader();
        try (MiniCluster cluster = cluster(configuration)) {
            cluster.start();
            cluster.submitJob(graph).get();
            while (SEEN.get() < keys) {
                if (cluster.getJobStatus(job).get().isTerminalState()) {
                    cluster.requestJobResult(job).get().toJobExecutionResult(loader);
                }
                Thread.sleep(PAUSE.toMillis());
            }
            System.out.println(
                    cluster.triggerSavepoint(
                                    job, arguments[0], false, SavepointFormatType.NATIVE)
                            .get());
            cluster.cancelJob(job).get();
            cluster.requestJobResult(job).get();
        }
    }

    private static JobGraph graph(StreamExecutionEnvironment environment, long keys) {
        environment
                .addSource(new Source(keys))
                .returns(Types.LONG)
                .keyBy(key -> key, Types.LONG)
                .process(new Fill())
                .returns(Types.LONG)
                .uid(Customers.UID)
                .sinkTo(new DiscardingSink<>());
        return environment.getStreamGraph().getJobGraph();
    }

    private static MiniCluster cluster(Configuration configuration) {
        return new MiniCluster(
                new MiniClusterConfiguration.Builder()
                        .setConfiguration(configuration)
                        .setNumTaskManagers(1)
                        .setNumSlotsPerTaskManager(
                                configuration.get(CoreOptions.DEFAULT_PARALLELISM))
                        .build());
    }

    /** Emits all keys, then waits: a job that has ended has no savepoint. */
    private static final class Source extends RichParallelSourceFunction<Long> {
        private final long keys;
        private volatile boolean isRunning = true;

        Source(long keys) {
            this.keys = keys;
        }

        @Override
        public void run(SourceContext<Long> context) throws InterruptedException {
            int subtasks = getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks();
            int subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
            for (long index = subtask; index < keys && isRunning; index += subtasks) {
                synchronized (context.getCheckpointLock()) {
                    context.collect(Customers.key(index, keys));
                }
            }
            while (isRunning) {
                Thread.sleep(PAUSE.toMillis());
            }
        }

        @Override
        public void cancel() {
            isRunning = false;
        }
    }

    private static final class Fill extends KeyedProcessFunction<Long, Long, Long> {
        private transient CustomerState state;

        @Override
        public void open(OpenContext context) {
            state = new CustomerState(getRuntimeContext());
        }

        @Override
        public void processElement(Long key, Context context, Collector<Long> out)
                throws IOException {
            state.update(Customers.countOf(key), Customers.nameOf(key));
            SEEN.incrementAndGet();
        }
    }
}
