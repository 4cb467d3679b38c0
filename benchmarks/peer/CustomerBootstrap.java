package peer;

import java.io.IOException;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.state.api.functions.KeyedStateBootstrapFunction;

/** Puts a row into the state of its key. */
final class CustomerBootstrap
        extends KeyedStateBootstrapFunction<Long, Tuple3<Long, Long, String>> {
    private transient CustomerState state;

    @Override
    public void open(OpenContext context) {
        state = new CustomerState(getRuntimeContext());
    }

    @Override
    public void processElement(Tuple3<Long, Long, String> row, Context context)
            throws IOException {
        state.update(row.f1, row.f2);
    }
}
