package shop;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.functions.FilterFunction;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;
import org.apache.flink.util.ExceptionUtils;

/**
 * Runs jobs whose state has serializers of the shop's own, one job after the other.
 *
 * <p>Arguments: five of each job, which are the savepoint that it begins with or {@code -}, the state
 * backend, the form of its own savepoint, how many keys it has, and the folder of its own savepoint.
 * Each job answers with a line of JSON: {@code savepoint} and {@code seen}, the text of what each key
 * had before; or {@code error}.
 */
public final class PricesJobs {
    private static final Map<String, String> SEEN = new ConcurrentHashMap<>();

    private PricesJobs() {}

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        ObjectMapper json = new ObjectMapper();
        try (LocalCluster cluster =
                LocalCluster.start(Configuration.fromMap(Map.of("rest.port", "0")), 2)) {
            for (int i = 0; i < args.length; i += 5) {
                Map<String, Object> answer = new HashMap<>();
                try {
                    SavepointFormatType form = SavepointFormatType.valueOf(args[i + 2]);
                    int count = Integer.parseInt(args[i + 3]);
                    answer.put(
                            "savepoint", run(cluster, args[i], args[i + 1], form, count, args[i + 4]));
                    answer.put("seen", new TreeMap<>(SEEN));
                } catch (Exception error) {
                    answer.put("error", ExceptionUtils.stringifyException(error));
                }
                answers.println(json.writeValueAsString(answer));
            }
        }
    }

    private static String run(
            LocalCluster cluster,
            String savepoint,
            String backend,
            SavepointFormatType form,
            int count,
            String target)
            throws Exception {
        Map<String, String> entries = new HashMap<>();
        entries.put("parallelism.default", "2");
        entries.put("restart-strategy.type", "none");
        entries.put("state.backend.type", backend);
        if (!savepoint.equals("-")) {
            entries.put("execution.savepoint.path", savepoint);
            entries.put("execution.state-recovery.path", savepoint);
        }
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(Configuration.fromMap(entries));
        SEEN.clear();
        env.fromSequence(0, Long.MAX_VALUE)
                .setParallelism(1)
                .uid("numbers")
                .filter(new Paused(count))
                .setParallelism(1)
                .uid("paused")
                .keyBy(
                        number -> sku(number % count),
                        new OwnType<>(Sku.class, SkuSerializer.INSTANCE))
                .process(new Prices())
                .returns(Types.STRING)
                .uid("prices");
        JobGraph graph = env.getStreamGraph().getJobGraph();
        JobID job = graph.getJobID();
        cluster.submit(graph);
        cluster.awaitRunning(job);
        LocalCluster.await(
                "keys do not come",
                () -> {
                    if (!cluster.isRunning(job)) {
                        cluster.awaitEnd(job);
                    }
                    return SEEN.size() >= count;
                });
        String taken = cluster.savepoint(job, target, form);
        cluster.cancel(job);
        return taken;
    }

    private static Sku sku(long number) {
        return new Sku(number % 7, "no " + number);
    }

    /** A POJO with a field of the shop's own type. */
    public static class Order {
        public Money price;
        public int amount;
    }

    /** Notes what a key has, and gives it new state if it has none. */
    static final class Prices extends KeyedProcessFunction<Sku, Long, String> {
        private transient ValueState<Money> price;
        private transient ListState<Money> history;
        private transient MapState<Sku, Money> competitors;
        private transient ValueState<Order> order;
        private transient ValueState<Interval<Money>> span;

        @Override
        public void processElement(Long number, Context context, Collector<String> out)
                throws Exception {
            define();
            SEEN.put(context.getCurrentKey().toString(), text());
            if (price.value() != null) {
                return;
            }
            long cents = context.getCurrentKey().hashCode() % 10_000L;
            price.update(new Money(cents, "EUR"));
            history.add(new Money(cents - 1, "EUR"));
            history.add(new Money(cents - 100_000_000_000L, "USD"));
            competitors.put(new Sku(99, "x"), new Money(2 * cents, "CHF"));
            Order first = new Order();
            first.price = new Money(cents + 5, "GBP");
            first.amount = 3;
            order.update(first);
            span.update(new Interval<>(new Money(0, "EUR"), new Money(cents, "EUR")));
        }

        private void define() {
            if (price != null) {
                return;
            }
            MoneySerializer money = MoneySerializer.INSTANCE;
            price = getRuntimeContext().getState(new ValueStateDescriptor<>("price", money));
            history = getRuntimeContext().getListState(new ListStateDescriptor<>("history", money));
            competitors =
                    getRuntimeContext()
                            .getMapState(
                                    new MapStateDescriptor<>(
                                            "competitors", SkuSerializer.INSTANCE, money));
            order =
                    getRuntimeContext()
                            .getState(new ValueStateDescriptor<>("order", Types.POJO(Order.class)));
            span =
                    getRuntimeContext()
                            .getState(
                                    new ValueStateDescriptor<>(
                                            "span", new IntervalSerializer<>(money)));
        }

        private String text() throws Exception {
            if (price.value() == null) {
                return "nothing";
            }
            StringBuilder text = new StringBuilder().append(price.value());
            history.get().forEach(past -> text.append("; ").append(past));
            for (Map.Entry<Sku, Money> entry : competitors.entries()) {
                text.append("; ").append(entry.getKey()).append(" = ").append(entry.getValue());
            }
            Order known = order.value();
            text.append("; ").append(known == null ? null : known.amount + " x " + known.price);
            return text.append("; ").append(span.value()).toString();
        }
    }

    /** Lets as many numbers through, and then waits. */
    static final class Paused implements FilterFunction<Long> {
        private final long count;
        private long passed;

        Paused(long count) {
            this.count = count;
        }

        @Override
        public boolean filter(Long number) throws Exception {
            if (passed < count) {
                passed++;
                return true;
            }
            Thread.sleep(20);
            return false;
        }
    }
}
