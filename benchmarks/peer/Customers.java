package peer;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.state.api.OperatorIdentifier;
import org.apache.flink.state.api.OperatorTransformation;
import org.apache.flink.state.api.SavepointReader;
import org.apache.flink.state.api.SavepointWriter;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** The state that is measured: an operator keyed by a long, with a long and a name per key. */
final class Customers {
    static final String UID = "bench";
    static final OperatorIdentifier OPERATOR = OperatorIdentifier.forUid(UID);
    static final int NAME_SIZE = 20;
    static final int MAX_PARALLELISM = 128;

    /** Key, count and name. */
    static final TypeInformation<Tuple3<Long, Long, String>> ROW =
            Types.TUPLE(Types.LONG, Types.LONG, Types.STRING);

    /** A prime above any number of keys, so that its multiples visit each key once. */
    private static final long STRIDE = Integer.MAX_VALUE;

    private Customers() {}

    /** The key that comes at an index: keys from 0 to {@code keys}, in no order. */
    static long key(long index, long keys) {
        return index * STRIDE % keys;
    }

    static Tuple3<Long, Long, String> row(long key) {
        return Tuple3.of(key, countOf(key), nameOf(key));
    }

    static long countOf(long key) {
        return key + 1;
    }

    static String nameOf(long key) {
        char[] name = new char[NAME_SIZE];
        "customer-".getChars(0, 9, name, 0);
        for (int position = NAME_SIZE - 1; position >= 9; position--) {
            name[position] = (char) ('0' + key % 10);
            key /= 10;
        }
        return new String(name);
    }

    /** All keyed state of a savepoint. */
    static DataStream<Tuple3<Long, Long, String>> read(
            StreamExecutionEnvironment environment, Configuration configuration, String savepoint)
            throws Exception {
        return SavepointReader.read(environment, savepoint, Settings.backend(configuration))
                .readKeyedState(OPERATOR, new CustomerReader(), Types.LONG, ROW);
    }

    /** Writes rows as a savepoint to each folder, a job each; prints the times of each job. */
    static void write(
            String folders, int maxParallelism, Configuration configuration, Source source)
            throws Exception {
        for (String folder : folders.split(",")) {
            StreamExecutionEnvironment environment = Settings.environment(configuration);
            SavepointWriter.newSavepoint(
                            environment, Settings.backend(configuration), maxParallelism)
                    .withOperator(
                            OPERATOR,
                            OperatorTransformation.bootstrapWith(source.rows(environment))
                                    .keyBy(row -> row.f0, Types.LONG)
                                    .transform(new CustomerBootstrap()))
                    .write(folder);
            Times.print(environment.execute());
        }
    }

    /** Where rows come from. */
    interface Source {
        DataStream<Tuple3<Long, Long, String>> rows(StreamExecutionEnvironment environment)
                throws Exception;
    }
}
