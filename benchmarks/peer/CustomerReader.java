package peer;

import java.io.IOException;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.state.api.functions.KeyedStateReaderFunction;
import org.apache.flink.util.Collector;

/** Makes a row of what a key has. */
final class CustomerReader extends KeyedStateReaderFunction<Long, Tuple3<Long, Long, String>> {
    private transient CustomerState state;

    @Override
    public void open(OpenContext context) {
        state = new CustomerState(getRuntimeContext());
    }

    @Override
    public void readKey(Long key, Context context, Collector<Tuple3<Long, Long, String>> out)
            throws IOException {
        out.collect(state.row(key));
    }
}
