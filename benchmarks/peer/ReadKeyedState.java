package peer;

import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFilterFunction;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * Reads all keyed state of a savepoint through Flink's State Processor API.
 *
 * <p>Arguments: the savepoint, how often, then Flink's configuration. Prints a line per run: the
 * number of rows, the sum of the counts, the characters of all names, then the times of the job.
 */
public final class ReadKeyedState {
    private ReadKeyedState() {}

    public static void main(String[] arguments) throws Exception {
        int runs = Integer.parseInt(arguments[1]);
        Configuration configuration = Settings.of(arguments, 2);
        for (int run = 0; run < runs; run++) {
            StreamExecutionEnvironment environment = Settings.environment(configuration);
            Customers.read(environment, configuration, arguments[0])
                    .filter(new Totals())
                    .sinkTo(new DiscardingSink<>());
            JobExecutionResult job = environment.execute();
            Object rows = job.getAccumulatorResult("rows");
            Object counts = job.getAccumulatorResult("counts");
            Object characters = job.getAccumulatorResult("characters");
            Times.print(job, rows, counts, characters);
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
