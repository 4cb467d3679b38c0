package old;

import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Comparator;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.CheckpointConfig;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.RichParallelSourceFunction;
import org.apache.flink.util.Collector;

/**
 * Takes checkpoints and savepoints in any release from 1.8 to 1.17, and prints a kind and a path
 * each. Arguments: a folder, and a state backend with or without ":incremental" each.
 */
public final class CountingJob {
    static final int ROWS = 1000;
    static final int KEYS = 50;
    static final AtomicInteger PROCESSED = new AtomicInteger();
    static final AtomicInteger SNAPSHOTS = new AtomicInteger();

    private CountingJob() {}

    public static void main(String[] args) throws Exception {
        Thread.setDefaultUncaughtExceptionHandler(
                (thread, error) -> {
                    error.printStackTrace();
                    System.exit(1);
                });
        for (int i = 1; i < args.length; i++) {
            String[] backend = args[i].split(":");
            take(Paths.get(args[0], args[i].replace(':', '-')), backend[0], backend.length > 1);
        }
        // Some threads of old releases live on.
        System.exit(0);
    }

    private static void take(Path folder, String backend, boolean incremental) throws Exception {
        Configuration configuration = new Configuration();
        configuration.setString("state.backend", backend);
        configuration.setString("state.backend.incremental", String.valueOf(incremental));
        configuration.setString("state.backend.fs.memory-threshold", "0");
        configuration.setString("state.storage.fs.memory-threshold", "0");
        configuration.setString("state.checkpoints.dir", folder.toUri().toString());
        // A savepoint takes the place of a checkpoint in some releases.
        configuration.setString("state.checkpoints.num-retained", "5");
        configuration.setString("rest.port", "0");
        configuration.setString("taskmanager.memory.managed.size", "64m");
        PROCESSED.set(0);
        MiniCluster cluster =
                new MiniCluster(
                        new MiniClusterConfiguration.Builder()
                                .setConfiguration(configuration)
                                .setNumTaskManagers(1)
                                .setNumSlotsPerTaskManager(2)
                                .build());
        cluster.start();
        JobGraph graph = graph();
        cluster.submitJob(graph).get();
        await(() -> PROCESSED.get() == ROWS);
        int seen = SNAPSHOTS.get();
        // Each source counts; the next two checkpoints began after the last row.
        await(() -> SNAPSHOTS.get() >= seen + 6);
        for (Method method : MiniCluster.class.getMethods()) {
            if (method.getName().equals("triggerSavepoint")) {
                savepoints(cluster, graph.getJobID(), method, folder);
            }
        }
        cluster.cancelJob(graph.getJobID()).get();
        cluster.requestJobResult(graph.getJobID()).get();
        cluster.close();
        System.out.println("checkpoint " + latest(folder.resolve(graph.getJobID().toString())));
    }

    /** Before 1.15 a savepoint has one format, and nobody asks for it. */
    private static void savepoints(MiniCluster cluster, JobID job, Method method, Path folder)
            throws Exception {
        String target = folder.resolve("savepoints").toUri().toString();
        if (method.getParameterCount() == 3) {
            Object path = ((Future<?>) method.invoke(cluster, job, target, false)).get();
            System.out.println("canonical " + path);
            return;
        }
        for (Object format : method.getParameterTypes()[3].getEnumConstants()) {
            Object path = ((Future<?>) method.invoke(cluster, job, target, false, format)).get();
            System.out.println(format.toString().toLowerCase() + " " + path);
        }
    }

    private static Path latest(Path checkpoints) throws Exception {
        try (Stream<Path> found = Files.list(checkpoints)) {
            return found.filter(path -> Files.exists(path.resolve("_metadata")))
                    .max(Comparator.comparingInt(CountingJob::number))
                    .get();
        }
    }

    private static int number(Path checkpoint) {
        return Integer.parseInt(checkpoint.getFileName().toString().substring("chk-".length()));
    }

    private static void await(Condition condition) throws Exception {
        long deadline = System.currentTimeMillis() + 120_000;
        while (!condition.holds()) {
            if (System.currentTimeMillis() > deadline) {
                throw new IllegalStateException("the job does not get on");
            }
            Thread.sleep(20);
        }
    }

    private static JobGraph graph() {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.setParallelism(2);
        env.setMaxParallelism(128);
        env.enableCheckpointing(200);
        env.getCheckpointConfig()
                .enableExternalizedCheckpoints(
                        CheckpointConfig.ExternalizedCheckpointCleanup.RETAIN_ON_CANCELLATION);
        DataStream<Integer> numbers = env.addSource(new Numbers()).uid("numbers");
        numbers.keyBy(new ByOdd(), new Odd.Type())
                .transform("odd", Types.STRING, new OddState())
                .uid("odd")
                .addSink(new DiscardingSink<>());
        numbers.keyBy(new ByNumber())
                .transform("text", Types.STRING, new OddState())
                .uid("text")
                .addSink(new DiscardingSink<>());
        numbers.keyBy(new ByNumber())
                .process(new Counting())
                .uid("counting")
                .addSink(new DiscardingSink<>());
        return env.getStreamGraph().getJobGraph();
    }

    /** True at some time. */
    interface Condition {
        boolean holds();
    }

    /** Emits half of the numbers, and the others after a checkpoint. */
    static final class Numbers extends RichParallelSourceFunction<Integer>
            implements CheckpointedFunction {
        private volatile boolean isRunning = true;
        private int next;
        private ListState<Long> position;

        @Override
        public void run(SourceContext<Integer> context) throws Exception {
            int subtasks = getRuntimeContext().getNumberOfParallelSubtasks();
            int start = getRuntimeContext().getIndexOfThisSubtask();
            int before = SNAPSHOTS.get();
            for (int i = start; i < ROWS && isRunning; i += subtasks) {
                while (i >= ROWS / 2 && SNAPSHOTS.get() < before + 2 * subtasks && isRunning) {
                    Thread.sleep(10);
                }
                synchronized (context.getCheckpointLock()) {
                    context.collectWithTimestamp(i, i);
                    next = i + subtasks;
                }
            }
            while (isRunning) {
                Thread.sleep(10);
            }
        }

        @Override
        public void cancel() {
            isRunning = false;
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            position.clear();
            position.add((long) next);
            SNAPSHOTS.incrementAndGet();
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            position =
                    context.getOperatorStateStore()
                            .getListState(new ListStateDescriptor<>("position", Types.LONG));
        }
    }

    static final class ByOdd implements KeySelector<Integer, Odd> {
        @Override
        public Odd getKey(Integer number) {
            return new Odd("key-" + number % KEYS);
        }
    }

    static final class ByNumber implements KeySelector<Integer, String> {
        @Override
        public String getKey(Integer number) {
            return "key-" + number % KEYS;
        }
    }

    /** State of each kind, and a timer per row; a key that is counted to the end loses its list. */
    static final class Counting extends KeyedProcessFunction<String, Integer, String> {
        private transient ValueState<Long> total;
        private transient ListState<String> names;
        private transient MapState<String, Double> rates;

        @Override
        public void open(Configuration parameters) {
            total = getRuntimeContext().getState(new ValueStateDescriptor<>("total", Types.LONG));
            names =
                    getRuntimeContext()
                            .getListState(new ListStateDescriptor<>("names", Types.STRING));
            rates =
                    getRuntimeContext()
                            .getMapState(
                                    new MapStateDescriptor<>("rates", Types.STRING, Types.DOUBLE));
        }

        @Override
        public void processElement(Integer number, Context context, Collector<String> out)
                throws Exception {
            total.update((total.value() == null ? 0 : total.value()) + number);
            names.add("n" + number);
            rates.put("m" + number % 3, number / 2.0);
            if (number >= ROWS - 5) {
                names.clear();
            }
            context.timerService().registerEventTimeTimer(4_102_444_800_000L + number);
            PROCESSED.incrementAndGet();
        }
    }
}
