package restore;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Shows what it finds for the keys that come in, and keeps a number for those that are new. */
final class FindFunction extends KeyedProcessFunction<Object, Object, Object> {
    private final String uid;
    private transient ValueState<Integer> state;

    FindFunction(String uid) {
        this.uid = uid;
    }

    @Override
    public void open(OpenContext context) {
        state = getRuntimeContext().getState(new ValueStateDescriptor<>("number", Types.INT));
    }

    @Override
    public void processElement(Object number, Context context, Collector<Object> out)
            throws Exception {
        int subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
        Integer found = state.value();
        if (found == null) {
            state.update((Integer) number);
        }
        Rows.add(uid, subtask, "number", number, "found", found);
    }
}
