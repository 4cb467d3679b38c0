package async;

import java.time.Duration;
import java.util.List;
import java.util.stream.LongStream;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.v2.AggregatingState;
import org.apache.flink.api.common.state.v2.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.v2.ListState;
import org.apache.flink.api.common.state.v2.ListStateDescriptor;
import org.apache.flink.api.common.state.v2.MapState;
import org.apache.flink.api.common.state.v2.MapStateDescriptor;
import org.apache.flink.api.common.state.v2.ReducingState;
import org.apache.flink.api.common.state.v2.ReducingStateDescriptor;
import org.apache.flink.api.common.state.v2.StateDescriptor;
import org.apache.flink.api.common.state.v2.ValueState;
import org.apache.flink.api.common.state.v2.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** A function with a state of each kind, with and without a time to live, and timers. */
final class States extends KeyedProcessFunction<Long, Long, Long> {
    private static final int DAY_MS = 86_400_000;

    private transient ValueState<String> value;
    private transient ListState<Long> list;
    private transient MapState<String, Long> map;
    private transient ReducingState<Long> reducing;
    private transient AggregatingState<Long, Long> aggregating;
    private transient ValueState<Long> timedValue;
    private transient ListState<Long> timedList;
    private transient MapState<String, Long> timedMap;

    static void define(StreamExecutionEnvironment env, boolean isFirst) {
        List<Long> rows =
                isFirst ? LongStream.range(0, AsyncJobs.KEYS).boxed().toList() : List.of();
        env.addSource(new AsyncJobs.Given<>(rows), Types.LONG)
                .uid("keys")
                .keyBy(key -> key, Types.LONG)
                .enableAsyncState()
                .process(new States(), Types.LONG)
                .uid("states");
    }

    @Override
    public void open(OpenContext context) {
        RuntimeContext states = getRuntimeContext();
        value = states.getState(new ValueStateDescriptor<>("value", Types.STRING));
        list = states.getListState(new ListStateDescriptor<>("list", Types.LONG));
        map = states.getMapState(new MapStateDescriptor<>("map", Types.STRING, Types.LONG));
        reducing =
                states.getReducingState(
                        new ReducingStateDescriptor<>("reducing", Long::sum, Types.LONG));
        aggregating =
                states.getAggregatingState(
                        new AggregatingStateDescriptor<>("aggregating", new Sum(), Types.LONG));
        timedValue = states.getState(timed(new ValueStateDescriptor<>("timed_value", Types.LONG)));
        timedList = states.getListState(timed(new ListStateDescriptor<>("timed_list", Types.LONG)));
        timedMap =
                states.getMapState(
                        timed(new MapStateDescriptor<>("timed_map", Types.STRING, Types.LONG)));
    }

    @Override
    public void processElement(Long key, Context context, Collector<Long> out) {
        value.asyncUpdate("value " + key);
        if (key % 5 != 0) {
            list.asyncAddAll(List.of(key, key + 1, key + 2));
            timedList.asyncAddAll(List.of(key, -key));
        }
        // asyncPutAll of ForSt leaves out the flag of null: Flink can't read the value either.
        map.asyncPut("a" + key, key);
        map.asyncPut("b", 2 * key);
        // The second addition must read what the first one wrote.
        reducing.asyncAdd(key).thenAccept(done -> reducing.asyncAdd(1L));
        aggregating.asyncAdd(key);
        timedValue.asyncUpdate(10 * key);
        timedMap.asyncPut("a", key);
        timedMap.asyncPut("b" + key, 3 * key);
        context.timerService().registerEventTimeTimer(4_102_444_800_000L + key);
    }

    private static <T extends StateDescriptor<?>> T timed(T descriptor) {
        descriptor.enableTimeToLive(
                StateTtlConfig.newBuilder(Duration.ofMillis(100L * DAY_MS)).build());
        return descriptor;
    }

    private static final class Sum implements AggregateFunction<Long, Long, Long> {
        @Override
        public Long createAccumulator() {
            return 1000L;
        }

        @Override
        public Long add(Long value, Long sum) {
            return sum + value;
        }

        @Override
        public Long getResult(Long sum) {
            return sum;
        }

        @Override
        public Long merge(Long left, Long right) {
            return left + right;
        }
    }
}
