package peer;

import java.io.IOException;
import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFilterFunction;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.state.api.OperatorIdentifier;
import org.apache.flink.state.api.OperatorTransformation;
import org.apache.flink.state.api.SavepointReader;
import org.apache.flink.state.api.SavepointWriter;
import org.apache.flink.state.api.functions.KeyedStateBootstrapFunction;
import org.apache.flink.state.api.functions.KeyedStateReaderFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/**
 * Writes, or reads, an operator keyed by a long with an object of Kryo per key.
 *
 * <p>Arguments: {@code write}, the folder and the number of keys; or {@code read}, the savepoint and
 * how often; then Flink's configuration. Prints a line per job: what a reader found, and the times.
 */
public final class Orders {
    private static final OperatorIdentifier OPERATOR = OperatorIdentifier.forUid(Customers.UID);
    private static final TypeInformation<Order> ORDER = Types.GENERIC(Order.class);

    private Orders() {}

    public static void main(String[] arguments) throws Exception {
        Configuration configuration = Settings.of(arguments, 3);
        if (arguments[0].equals("write")) {
            write(arguments[1], Long.parseLong(arguments[2]), configuration);
            return;
        }
        for (int run = 0; run < Integer.parseInt(arguments[2]); run++) {
            read(arguments[1], configuration);
        }
    }

    private static void write(String folder, long keys, Configuration configuration)
            throws Exception {
        StreamExecutionEnvironment environment = Settings.environment(configuration);
        SavepointWriter.newSavepoint(
                        environment, Settings.backend(configuration), Customers.MAX_PARALLELISM)
                .withOperator(
                        OPERATOR,
                        OperatorTransformation.bootstrapWith(
                                        environment
                                                .fromSequence(0, keys - 1)
                                                .map(index -> Customers.key(index, keys))
                                                .returns(Types.LONG))
                                .keyBy(key -> key, Types.LONG)
                                .transform(new Writer()))
                .write(folder);
        Times.print(environment.execute());
    }

    private static void read(String savepoint, Configuration configuration) throws Exception {
        StreamExecutionEnvironment environment = Settings.environment(configuration);
        SavepointReader.read(environment, savepoint, Settings.backend(configuration))
                .readKeyedState(OPERATOR, new Reader(), Types.LONG, ORDER)
                .filter(new Totals())
                .sinkTo(new DiscardingSink<>());
        JobExecutionResult job = environment.execute();
        Object rows = job.getAccumulatorResult("rows");
        Object counts = job.getAccumulatorResult("counts");
        Object characters = job.getAccumulatorResult("characters");
        Times.print(job, rows, counts, characters);
    }

    private static ValueStateDescriptor<Order> state() {
        return new ValueStateDescriptor<>("order", ORDER);
    }

    private static final class Writer extends KeyedStateBootstrapFunction<Long, Long> {
        private transient ValueState<Order> order;

        @Override
        public void open(OpenContext context) {
            order = getRuntimeContext().getState(state());
        }

        @Override
        public void processElement(Long key, Context context) throws IOException {
            order.update(Order.of(key));
        }
    }

    private static final class Reader extends KeyedStateReaderFunction<Long, Order> {
        private transient ValueState<Order> order;

        @Override
        public void open(OpenContext context) {
            order = getRuntimeContext().getState(state());
        }

        @Override
        public void readKey(Long key, Context context, Collector<Order> out) throws IOException {
            out.collect(order.value());
        }
    }

    /** Uses fields of all kinds; lets no row pass. */
    private static final class Totals extends RichFilterFunction<Order> {
        private final LongCounter rows = new LongCounter();
        private final LongCounter counts = new LongCounter();
        private final LongCounter characters = new LongCounter();

        @Override
        public void open(OpenContext context) {
            getRuntimeContext().addAccumulator("rows", rows);
            getRuntimeContext().addAccumulator("counts", counts);
            getRuntimeContext().addAccumulator("characters", characters);
        }

        @Override
        public boolean filter(Order order) {
            rows.add(1L);
            for (long count : order.counts) {
                counts.add(count);
            }
            characters.add(order.name.length());
            return false;
        }
    }
}
