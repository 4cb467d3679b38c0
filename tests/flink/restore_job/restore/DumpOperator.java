package restore;

import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.api.common.state.BroadcastState;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.runtime.state.KeyedStateBackend;
import org.apache.flink.runtime.state.OperatorStateBackend;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.InternalTimer;
import org.apache.flink.streaming.api.operators.InternalTimerService;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.operators.Triggerable;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.function.BiConsumerWithException;

/** Shows everything that Flink has restored for it before it takes any input. */
final class DumpOperator extends AbstractStreamOperator<Object>
        implements OneInputStreamOperator<Object, Object>, Triggerable<Object, Object> {
    private final Request.Operator description;

    DumpOperator(Request.Operator description) {
        this.description = description;
    }

    @Override
    public void open() throws Exception {
        super.open();
        for (Request.State state : description.states()) {
            showState(state);
        }
        for (Request.Timers timers : description.timers()) {
            showTimers(timers);
        }
        for (Request.Elements elements : description.elements()) {
            showElements(elements);
        }
    }

    private void showState(Request.State state) throws Exception {
        KeyedStateBackend<Object> backend = getKeyedStateBackend();
        TypeSerializer<Object> namespaces = TypeWords.namespace(state.namespace());
        StateDescriptor<? extends State, ?> descriptor = KeyedStates.descriptor(state);
        // Both backends list the keys of states that the job has registered.
        backend.getOrCreateKeyedState(namespaces, descriptor);
        for (Tuple2<Object, Object> place : places(backend, state.name())) {
            backend.setCurrentKey(place.f0);
            State content = backend.getPartitionedState(place.f1, namespaces, descriptor);
            Object value = KeyedStates.json(content, state);
            if (value != null) {
                show("state", state.name(), "key", key(), "namespace", Json.of(place.f1), "value",
                        value);
            }
        }
    }

    /** A key and namespace for each entry of a state; RocksDB lists those of a map repeatedly. */
    private static Set<Tuple2<Object, Object>> places(
            KeyedStateBackend<Object> backend, String state) {
        try (Stream<Tuple2<Object, Object>> places = backend.getKeysAndNamespaces(state)) {
            return places.collect(Collectors.toCollection(LinkedHashSet::new));
        }
    }

    private void showTimers(Request.Timers timers) throws Exception {
        InternalTimerService<Object> service =
                getInternalTimerService(
                        timers.name(), TypeWords.namespace(timers.namespace()), this);
        service.forEachEventTimeTimer(timer(timers.name(), "event_time"));
        service.forEachProcessingTimeTimer(timer(timers.name(), "processing_time"));
    }

    private BiConsumerWithException<Object, Long, Exception> timer(String service, String domain) {
        return (namespace, timestamp) ->
                show("timers", service, "domain", domain, "key", key(), "namespace",
                        Json.of(namespace), "timestamp", timestamp);
    }

    private void showElements(Request.Elements elements) throws Exception {
        OperatorStateBackend backend = getOperatorStateBackend();
        TypeInformation<Object> type = TypeWords.type(elements.types().get(0));
        ListStateDescriptor<Object> list = new ListStateDescriptor<>(elements.name(), type);
        switch (elements.mode()) {
            case "list" -> showList(elements, backend.getListState(list), type);
            case "union" -> showList(elements, backend.getUnionListState(list), type);
            case "broadcast" -> showBroadcast(elements, type);
            default -> throw new IllegalArgumentException("no mode " + elements.mode());
        }
    }

    private void showList(
            Request.Elements elements, ListState<Object> state, TypeInformation<Object> type)
            throws Exception {
        for (Object element : state.get()) {
            show("elements", elements.name(), "value", Json.of(element, type));
        }
    }

    private void showBroadcast(Request.Elements elements, TypeInformation<Object> key)
            throws Exception {
        TypeInformation<Object> item = TypeWords.type(elements.types().get(1));
        BroadcastState<Object, Object> state =
                getOperatorStateBackend()
                        .getBroadcastState(new MapStateDescriptor<>(elements.name(), key, item));
        for (Map.Entry<Object, Object> entry : state.entries()) {
            show("elements", elements.name(), "key", Json.of(entry.getKey(), key), "value",
                    Json.of(entry.getValue(), item));
        }
    }

    private Object key() {
        return Json.of(getCurrentKey(), TypeWords.type(description.key()));
    }

    private void show(Object... fields) {
        Rows.add(
                description.uid(),
                getRuntimeContext().getTaskInfo().getIndexOfThisSubtask(),
                fields);
    }

    @Override
    public void processElement(StreamRecord<Object> element) {}

    @Override
    public void onEventTime(InternalTimer<Object, Object> timer) {}

    @Override
    public void onProcessingTime(InternalTimer<Object, Object> timer) {}
}
