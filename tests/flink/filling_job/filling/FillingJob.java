package filling;

import depot.Box;
import depot.Code;
import depot.Place;
import depot.RareItem;
import depot.Stock;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongFunction;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.time.Time;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.streaming.api.functions.co.BroadcastProcessFunction;
import org.apache.flink.streaming.api.functions.sink.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.SourceFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;
import shop.LocalCluster;

/**
 * A job of Flink 1.x whose state is of the classes of {@code depot}, wherever state may be.
 *
 * <p>Arguments: a folder for savepoints, then backends and formats as rocksdb-native. It prints the
 * paths of the savepoints, a line each.
 */
public final class FillingJob {
    private static final int KEYS = 24;
    private static final long FAR_FUTURE = 4_102_444_800_000L;
    private static final AtomicLong PROCESSED = new AtomicLong();

    private FillingJob() {}

    public static void main(String[] args) throws Exception {
        for (int index = 1; index < args.length; index++) {
            String[] variant = args[index].split("-");
            SavepointFormatType format = SavepointFormatType.valueOf(variant[1].toUpperCase());
            System.out.println(savepoint(variant[0], format, Path.of(args[0], args[index])));
        }
    }

    private static String savepoint(String backend, SavepointFormatType format, Path target)
            throws Exception {
        Configuration configuration =
                Configuration.fromMap(
                        Map.of("parallelism.default", "2", "state.backend.type", backend));
        JobGraph graph = jobGraph(configuration);
        PROCESSED.set(0);
        try (LocalCluster cluster = LocalCluster.start(configuration, 2)) {
            cluster.submit(graph);
            cluster.awaitRunning(graph.getJobID());
            // What the source emits reaches five operators; the broadcast reaches both subtasks.
            LocalCluster.await("not all is processed", () -> PROCESSED.get() >= 6 * KEYS);
            String path;
            try {
                path = cluster.savepoint(graph.getJobID(), target.toUri().toString(), format);
            } catch (ExecutionException error) {
                // What the job failed with says more.
                cluster.awaitEnd(graph.getJobID());
                throw error;
            }
            cluster.cancel(graph.getJobID());
            return path;
        }
    }

    private static JobGraph jobGraph(Configuration configuration) {
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        env.getConfig().registerPojoType(RareItem.class);
        DataStream<Long> numbers = env.addSource(new Numbers()).returns(Types.LONG).uid("numbers");
        numbers.keyBy(number -> number, Types.LONG).process(new Keeper<>()).uid("stocks")
                .addSink(new DiscardingSink<>()).uid("sink_1");
        numbers.keyBy(Place::of, TypeInformation.of(Place.class)).process(new Keeper<>())
                .uid("places").addSink(new DiscardingSink<>()).uid("sink_2");
        numbers.keyBy(Code::of, Types.GENERIC(Code.class)).process(new Keeper<>()).uid("codes")
                .addSink(new DiscardingSink<>()).uid("sink_3");
        numbers.map(Box::of).returns(Box.class).uid("boxes")
                .keyBy(box -> Place.of(box.counts.get("n") % 5), TypeInformation.of(Place.class))
                .window(TumblingEventTimeWindows.of(
                        org.apache.flink.streaming.api.windowing.time.Time.seconds(5)))
                .process(new Windows()).uid("windows")
                .addSink(new DiscardingSink<>()).uid("sink_4");
        numbers.process(new Lists()).uid("lists").addSink(new DiscardingSink<>()).uid("sink_5");
        numbers.connect(numbers.broadcast(Rules.STATE)).process(new Rules()).uid("rules")
                .addSink(new DiscardingSink<>()).uid("sink_6");
        return env.getStreamGraph().getJobGraph();
    }

    /** The numbers of all keys, once, under a time of event; then it waits for its end. */
    private static final class Numbers implements SourceFunction<Long> {
        private volatile boolean isRunning = true;

        @Override
        public void run(SourceContext<Long> context) throws Exception {
            for (long number = 0; number < KEYS; number++) {
                synchronized (context.getCheckpointLock()) {
                    context.collectWithTimestamp(number, number * 1000);
                }
            }
            while (isRunning) {
                Thread.sleep(20);
            }
        }

        @Override
        public void cancel() {
            isRunning = false;
        }
    }

    /** Keeps a value of each kind of state, and a timer. */
    private static final class Keeper<K> extends KeyedProcessFunction<K, Long, Long> {
        private transient ValueState<Stock> stock;
        private transient ListState<Box> boxes;
        private transient MapState<Place, Box> byPlace;
        private transient ValueState<Box> kept;
        private transient ValueState<Object> code;

        @Override
        @SuppressWarnings({"unchecked", "rawtypes"})
        public void open(Configuration configuration) {
            stock = getRuntimeContext().getState(new ValueStateDescriptor<>("stock", Stock.class));
            boxes = getRuntimeContext().getListState(new ListStateDescriptor<>("boxes", Box.class));
            byPlace =
                    getRuntimeContext()
                            .getMapState(
                                    new MapStateDescriptor<>("by_place", Place.class, Box.class));
            ValueStateDescriptor<Box> withTtl = new ValueStateDescriptor<>("kept", Box.class);
            withTtl.enableTimeToLive(StateTtlConfig.newBuilder(Time.days(1000)).build());
            kept = getRuntimeContext().getState(withTtl);
            code =
                    getRuntimeContext()
                            .getState(
                                    new ValueStateDescriptor<>(
                                            "code",
                                            (TypeInformation) Types.GENERIC(Code.class)));
        }

        @Override
        public void processElement(Long number, Context context, Collector<Long> out)
                throws Exception {
            stock.update(Stock.of(number));
            boxes.addAll(List.of(Box.of(number), Box.of(number + 1)));
            byPlace.put(Place.of(number), Box.of(number));
            byPlace.put(Place.of(number + 1), null);
            kept.update(Box.of(number + 2));
            code.update(Code.of(number));
            context.timerService().registerEventTimeTimer(FAR_FUTURE + number);
            PROCESSED.incrementAndGet();
        }
    }

    /** Windows that do not end before the savepoint. */
    private static final class Windows
            extends ProcessWindowFunction<Box, Long, Place, TimeWindow> {
        @Override
        public void process(Place key, Context context, Iterable<Box> boxes, Collector<Long> out) {}
    }

    /** List and union state. */
    private static final class Lists extends ProcessFunction<Long, Long>
            implements CheckpointedFunction {
        private transient ListState<Box> list;
        private transient ListState<Stock> union;

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            list =
                    context.getOperatorStateStore()
                            .getListState(new ListStateDescriptor<>("list", Box.class));
            union =
                    context.getOperatorStateStore()
                            .getUnionListState(new ListStateDescriptor<>("union", Stock.class));
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) {}

        @Override
        public void processElement(Long number, Context context, Collector<Long> out)
                throws Exception {
            list.add(Box.of(number));
            union.add(Stock.of(number));
            PROCESSED.incrementAndGet();
        }
    }

    /** Broadcast state. */
    private static final class Rules extends BroadcastProcessFunction<Long, Long, Long> {
        private static final MapStateDescriptor<Place, Box> STATE =
                new MapStateDescriptor<>("rules", Place.class, Box.class);

        @Override
        public void processElement(Long number, ReadOnlyContext context, Collector<Long> out) {}

        @Override
        public void processBroadcastElement(Long number, Context context, Collector<Long> out)
                throws Exception {
            context.getBroadcastState(STATE).put(Place.of(number), Box.of(number));
            PROCESSED.incrementAndGet();
        }
    }
}
