package peer;

import java.io.IOException;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;

/** The state of the key that a function is at. */
final class CustomerState {
    private final ValueState<Long> count;
    private final ValueState<String> name;

    CustomerState(RuntimeContext context) {
        count = context.getState(new ValueStateDescriptor<>("count", Types.LONG));
        name = context.getState(new ValueStateDescriptor<>("name", Types.STRING));
    }

    Tuple3<Long, Long, String> row(Long key) throws IOException {
        return Tuple3.of(key, count.value(), name.value());
    }

    void update(Long newCount, String newName) throws IOException {
        count.update(newCount);
        name.update(newName);
    }
}
