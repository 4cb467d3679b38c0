package restore;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** A function as users write it: when a timer fires, it shows the state of the timer's key. */
final class FiringFunction extends KeyedProcessFunction<Object, Object, Object> {
    private final Request.Operator description;
    private final Map<Request.State, State> states = new LinkedHashMap<>();

    FiringFunction(Request.Operator description) {
        this.description = description;
    }

    @Override
    public void open(OpenContext context) {
        for (Request.State state : description.states()) {
            states.put(state, state(KeyedStates.descriptor(state)));
        }
    }

    private State state(StateDescriptor<?, ?> descriptor) {
        RuntimeContext runtime = getRuntimeContext();
        return switch (descriptor.getType()) {
            case VALUE -> runtime.getState((ValueStateDescriptor<?>) descriptor);
            case LIST -> runtime.getListState((ListStateDescriptor<?>) descriptor);
            case MAP -> runtime.getMapState((MapStateDescriptor<?, ?>) descriptor);
            case REDUCING -> runtime.getReducingState((ReducingStateDescriptor<?>) descriptor);
            case AGGREGATING ->
                    runtime.getAggregatingState((AggregatingStateDescriptor<?, ?, ?>) descriptor);
            default -> throw new IllegalArgumentException("no kind " + descriptor.getType());
        };
    }

    @Override
    public void processElement(Object value, Context context, Collector<Object> out) {}

    @Override
    public void onTimer(long timestamp, OnTimerContext context, Collector<Object> out)
            throws Exception {
        Map<String, Object> contents = new LinkedHashMap<>();
        for (Map.Entry<Request.State, State> state : states.entrySet()) {
            contents.put(state.getKey().name(), KeyedStates.json(state.getValue(), state.getKey()));
        }
        Object key = Json.of(context.getCurrentKey(), TypeWords.type(description.key()));
        int subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
        String domain = context.timeDomain().name().toLowerCase();
        Rows.add(description.uid(), subtask, "fired", domain, "key", key, "timestamp", timestamp,
                "states", contents);
    }
}
