package hidden;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;
import shop.LocalCluster;

/**
 * A job whose state has subclasses and classes that nobody describes, wherever state may be.
 *
 * <p>Arguments: a folder for savepoints, a number of keys, then backends and formats as
 * hashmap-native. It answers with a line of JSON per savepoint: {@code variant}, {@code savepoint}.
 */
public final class HiddenJob {
    private static final AtomicLong PROCESSED = new AtomicLong();

    private HiddenJob() {}

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        long keys = Long.parseLong(args[1]);
        for (int index = 2; index < args.length; index++) {
            String path = savepoint(args[index].split("-"), keys, Path.of(args[0], args[index]));
            answers.println(
                    new ObjectMapper()
                            .writeValueAsString(Map.of("variant", args[index], "savepoint", path)));
        }
    }

    private static String savepoint(String[] variant, long keys, Path target) throws Exception {
        Configuration configuration =
                Configuration.fromMap(
                        Map.of(
                                "parallelism.default",
                                "2",
                                "rest.port",
                                "0",
                                "state.checkpoints.dir",
                                target.resolve("checkpoints").toUri().toString(),
                                "state.backend.type",
                                variant[0]));
        JobGraph graph = jobGraph(configuration, keys);
        JobID job = graph.getJobID();
        PROCESSED.set(0);
        try (LocalCluster cluster = LocalCluster.start(configuration, 2)) {
            cluster.submit(graph);
            cluster.awaitRunning(job);
            LocalCluster.await(
                    "not all is processed",
                    () -> cluster.isRunning(job) && PROCESSED.get() >= 3 * keys);
            SavepointFormatType format = SavepointFormatType.valueOf(variant[1].toUpperCase());
            String path = cluster.savepoint(job, target.toUri().toString(), format);
            cluster.cancel(job);
            return path;
        }
    }

    private static JobGraph jobGraph(Configuration configuration, long keys) {
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        DataStream<Long> numbers =
                env.fromSource(
                                new NumberSequenceSource(0, Long.MAX_VALUE),
                                WatermarkStrategy.noWatermarks(),
                                "numbers")
                        .uid("numbers")
                        .setParallelism(1)
                        .filter(number -> isKey(number, keys))
                        .uid("keys")
                        .setParallelism(1);
        numbers.keyBy(number -> number, Types.LONG).process(new Items()).uid("items")
                .sinkTo(new DiscardingSink<>()).uid("items_sink");
        numbers.keyBy(number -> number, Types.LONG).process(new Keys()).uid("by_items")
                .sinkTo(new DiscardingSink<>()).uid("by_items_sink");
        numbers.keyBy(number -> number, Types.LONG).process(new Things()).uid("things")
                .sinkTo(new DiscardingSink<>()).uid("things_sink");
        return env.getStreamGraph().getJobGraph();
    }

    private static boolean isKey(long number, long keys) throws InterruptedException {
        if (number >= keys) {
            Thread.sleep(5);
        }
        return number < keys;
    }

    /** POJOs, some of a subclass. */
    private static final class Items extends KeyedProcessFunction<Long, Long, Long> {
        private transient ValueState<Item> item;
        private transient ListState<Item> items;
        private transient MapState<String, Item> byName;
        private transient ValueState<Holder> holder;
        private transient ListState<Holder> holders;
        private transient MapState<String, Holder> holderByName;
        private transient ValueState<List<Item>> list;
        private transient ValueState<Map<String, Item>> map;

        @Override
        public void open(OpenContext context) {
            TypeInformation<Item> ofItem = TypeInformation.of(Item.class);
            TypeInformation<Holder> ofHolder = TypeInformation.of(Holder.class);
            item = getRuntimeContext().getState(new ValueStateDescriptor<>("item", ofItem));
            items = getRuntimeContext().getListState(new ListStateDescriptor<>("items", ofItem));
            byName =
                    getRuntimeContext()
                            .getMapState(
                                    new MapStateDescriptor<>("by_name", Types.STRING, ofItem));
            holder = getRuntimeContext().getState(new ValueStateDescriptor<>("holder", ofHolder));
            holders =
                    getRuntimeContext().getListState(new ListStateDescriptor<>("holders", ofHolder));
            holderByName =
                    getRuntimeContext()
                            .getMapState(
                                    new MapStateDescriptor<>(
                                            "holder_by_name", Types.STRING, ofHolder));
            list =
                    getRuntimeContext()
                            .getState(new ValueStateDescriptor<>("list", Types.LIST(ofItem)));
            map =
                    getRuntimeContext()
                            .getState(
                                    new ValueStateDescriptor<>(
                                            "map", Types.MAP(Types.STRING, ofItem)));
        }

        @Override
        public void processElement(Long number, Context context, Collector<Long> out)
                throws Exception {
            item.update(Item.of(number));
            items.addAll(List.of(Item.of(number), Item.of(number + 1), Item.of(number + 2)));
            byName.put("a", Item.of(number));
            byName.put("b", Item.of(number + 1));
            byName.put("none", null);
            holder.update(Holder.of(number));
            holders.addAll(List.of(Holder.of(number), Holder.of(number + 5)));
            holderByName.put("h", Holder.of(number));
            holderByName.put("i", Holder.of(number + 1));
            list.update(new ArrayList<>(List.of(Item.of(number), Item.of(number + 1))));
            map.update(new HashMap<>(Map.of("x", Item.of(number), "y", Item.of(number + 1))));
            PROCESSED.incrementAndGet();
        }
    }

    /** POJOs as keys of a map. */
    private static final class Keys extends KeyedProcessFunction<Long, Long, Long> {
        private transient MapState<Item, Long> byItem;

        @Override
        public void open(OpenContext context) {
            byItem =
                    getRuntimeContext()
                            .getMapState(
                                    new MapStateDescriptor<>(
                                            "by_item",
                                            TypeInformation.of(Item.class),
                                            Types.LONG));
        }

        @Override
        public void processElement(Long number, Context context, Collector<Long> out)
                throws Exception {
            byItem.put(Item.of(number), number);
            byItem.put(Item.of(number + 1), number + 1);
            PROCESSED.incrementAndGet();
        }
    }

    /** Objects of Kryo. */
    private static final class Things extends KeyedProcessFunction<Long, Long, Long> {
        private transient ValueState<Thing> thing;
        private transient ValueState<Odd> odd;
        private transient ValueState<Odder> odder;
        private transient ListState<Odd> odds;
        private transient MapState<String, Odd> byName;

        @Override
        public void open(OpenContext context) {
            TypeInformation<Odd> ofOdd = TypeInformation.of(Odd.class);
            thing =
                    getRuntimeContext()
                            .getState(
                                    new ValueStateDescriptor<>(
                                            "thing", Types.GENERIC(Thing.class)));
            odd = getRuntimeContext().getState(new ValueStateDescriptor<>("odd", ofOdd));
            odder =
                    getRuntimeContext()
                            .getState(
                                    new ValueStateDescriptor<>(
                                            "odder", TypeInformation.of(Odder.class)));
            odds = getRuntimeContext().getListState(new ListStateDescriptor<>("odds", ofOdd));
            byName =
                    getRuntimeContext()
                            .getMapState(new MapStateDescriptor<>("by_name", Types.STRING, ofOdd));
        }

        @Override
        public void processElement(Long number, Context context, Collector<Long> out)
                throws Exception {
            thing.update(new Thing(number));
            odd.update(Odd.of(number));
            odder.update(Odder.of(number));
            odds.addAll(List.of(Odd.of(number), Odd.of(number + 1), Odd.of(number + 2)));
            byName.put("a", Odd.of(number));
            byName.put("b", Odd.of(number + 1));
            PROCESSED.incrementAndGet();
        }
    }
}
