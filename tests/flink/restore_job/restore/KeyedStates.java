package restore;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.AppendingState;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;

/** Descriptors of the states of keys, and what the state objects hold. */
final class KeyedStates {
    private KeyedStates() {}

    static StateDescriptor<? extends State, ?> descriptor(Request.State state) {
        String name = state.name();
        List<TypeInformation<Object>> types = state.types().stream().map(TypeWords::type).toList();
        TypeInformation<Object> type = types.get(0);
        StateDescriptor<? extends State, ?> descriptor =
                switch (state.kind()) {
                    case "VALUE" -> new ValueStateDescriptor<>(name, type);
                    case "LIST" -> new ListStateDescriptor<>(name, type);
                    case "MAP" -> new MapStateDescriptor<>(name, type, types.get(1));
                    case "REDUCING" -> new ReducingStateDescriptor<>(name, KeyedStates::first, type);
                    case "AGGREGATING" ->
                            new AggregatingStateDescriptor<>(name, new Accumulator(), type);
                    default -> throw new IllegalArgumentException("no kind " + state.kind());
                };
        if (state.ttl() > 0) {
            Duration ttl = Duration.ofMillis(state.ttl());
            descriptor.enableTimeToLive(StateTtlConfig.newBuilder(ttl).build());
        }
        return descriptor;
    }

    /** What the state of the current key holds; null if nothing. */
    static Object json(State state, Request.State description) throws Exception {
        List<String> types = description.types();
        if (state instanceof ValueState<?> value) {
            return Json.of(value.value(), TypeWords.type(types.get(0)));
        }
        if (state instanceof MapState<?, ?> map) {
            return map.isEmpty() ? null : entries(map, types);
        }
        if (state instanceof ListState<?> list) {
            return elements(list.get(), TypeWords.type(types.get(0)));
        }
        return Json.of(((AppendingState<?, ?>) state).get(), TypeWords.type(types.get(0)));
    }

    private static Object elements(Iterable<?> elements, TypeInformation<?> type) {
        List<Object> list = new ArrayList<>();
        if (elements != null) {
            elements.forEach(element -> list.add(Json.of(element, type)));
        }
        return list.isEmpty() ? null : list;
    }

    private static Object entries(MapState<?, ?> map, List<String> types) throws Exception {
        TypeInformation<Object> key = TypeWords.type(types.get(0));
        TypeInformation<Object> item = TypeWords.type(types.get(1));
        Map<Object, Object> entries = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : map.entries()) {
            entries.put(Json.of(entry.getKey(), key), Json.of(entry.getValue(), item));
        }
        return Json.of(entries);
    }

    static Object first(Object first, Object second) {
        return first;
    }

    /** An aggregation of which the accumulator is all there is to see. */
    static final class Accumulator implements AggregateFunction<Object, Object, Object> {
        @Override
        public Object createAccumulator() {
            throw new IllegalStateException("there is no input");
        }

        @Override
        public Object add(Object value, Object accumulator) {
            return accumulator;
        }

        @Override
        public Object getResult(Object accumulator) {
            return accumulator;
        }

        @Override
        public Object merge(Object left, Object right) {
            return left;
        }
    }
}
