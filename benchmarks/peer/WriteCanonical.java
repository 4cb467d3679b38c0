package peer;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.state.api.OperatorIdentifier;
import org.apache.flink.state.api.OperatorTransformation;
import org.apache.flink.state.api.SavepointWriter;
import org.apache.flink.state.api.functions.KeyedStateBootstrapFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * Writes a savepoint through Flink's SavepointWriter, which is canonical.
 *
 * <p>Arguments: its folder, the number of keys, then Flink's configuration.
 */
public final class WriteCanonical {
    private WriteCanonical() {}

    public static void main(String[] arguments) throws Exception {
        long keys = Long.parseLong(arguments[1]);
        Configuration configuration = Settings.of(arguments, 2);
        StreamExecutionEnvironment environment = Settings.environment(configuration);
        DataStream<Long> customers =
                environment
                        .fromSequence(0, keys - 1)
                        .map(index -> Customers.key(index, keys))
                        .returns(Types.LONG);
        SavepointWriter.newSavepoint(
                        environment, Settings.backend(configuration), Customers.MAX_PARALLELISM)
                .withOperator(
                        OperatorIdentifier.forUid(Customers.UID),
                        OperatorTransformation.bootstrapWith(customers)
                                .keyBy(key -> key, Types.LONG)
                                .transform(new Bootstrap()))
                .write(arguments[0]);
        environment.execute();
    }

    private static final class Bootstrap extends KeyedStateBootstrapFunction<Long, Long> {
        private transient ValueState<Long> count;
        private transient ValueState<String> name;

        @Override
        public void open(OpenContext context) {
            count = getRuntimeContext().getState(Customers.count());
            name = getRuntimeContext().getState(Customers.name());
        }

        @Override
        public void processElement(Long key, Context context) throws Exception {
            count.update(Customers.countOf(key));
            name.update(Customers.nameOf(key));
        }
    }
}
