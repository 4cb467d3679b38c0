package peer;

import java.lang.management.ManagementFactory;
import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFilterFunction;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.state.api.OperatorIdentifier;
import org.apache.flink.state.api.SavepointReader;
import org.apache.flink.state.api.functions.KeyedStateReaderFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/**
 * Reads all keyed state of a savepoint through Flink's State Processor API.
 *
 * <p>Arguments: the savepoint, how often, then Flink's configuration. Prints a line per run: the
 * number of rows, the sum of the counts, the characters of all names, the milliseconds of the job
 * alone, and those since the JVM began.
 */
public final class ReadKeyedState {
    private ReadKeyedState() {}

    public static void main(String[] arguments) throws Exception {
        int runs = Integer.parseInt(arguments[1]);
        long start = ManagementFactory.getRuntimeMXBean().getStartTime();
        for (int run = 0; run < runs; run++) {
            JobExecutionResult result = read(arguments[0], Settings.of(arguments, 2));
            Long rows = result.getAccumulatorResult("rows");
            Long counts = result.getAccumulatorResult("counts");
            Long characters = result.getAccumulatorResult("characters");
            long elapsed = System.currentTimeMillis() - start;
            System.out.printf(
                    "%d %d %d %d %d%n", rows, counts, characters, result.getNetRuntime(), elapsed);
        }
    }

    private static JobExecutionResult read(String savepoint, Configuration configuration)
            throws Exception {
        StreamExecutionEnvironment environment = Settings.environment(configuration);
        SavepointReader.read(environment, savepoint, Settings.backend(configuration))
                .readKeyedState(
                        OperatorIdentifier.forUid(Customers.UID),
                        new Reader(),
                        Types.LONG,
                        Types.TUPLE(Types.LONG, Types.LONG, Types.STRING))
                .filter(new Totals())
                .sinkTo(new DiscardingSink<>());
        return environment.execute();
    }

    private static final class Reader
            extends KeyedStateReaderFunction<Long, Tuple3<Long, Long, String>> {
        private transient ValueState<Long> count;
        private transient ValueState<String> name;

        @Override
        public void open(OpenContext context) {
            count = getRuntimeContext().getState(Customers.count());
            name = getRuntimeContext().getState(Customers.name());
        }

        @Override
        public void readKey(
                Long key, Context context, Collector<Tuple3<Long, Long, String>> out)
                throws Exception {
            out.collect(Tuple3.of(key, count.value(), name.value()));
        }
    }

    /** Uses every column, so that nothing of the work can be left out; lets no row pass. */
    private static final class Totals extends RichFilterFunction<Tuple3<Long, Long, String>> {
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
        public boolean filter(Tuple3<Long, Long, String> row) {
            rows.add(1L);
            counts.add(row.f1);
            characters.add(row.f2.length());
            return false;
        }
    }
}
