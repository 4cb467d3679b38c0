import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** A small job with state and checkpoints: Java stores the classes that such jobs load. */
public class Stored extends KeyedProcessFunction<Long, Long, String> {
    // Releases disagree on the argument of open, so each element asks for its states.
    private ValueState<Long> count() {
        return getRuntimeContext().getState(new ValueStateDescriptor<>("count", Long.class));
    }

    @Override
    public void processElement(Long value, Context context, Collector<String> out) throws Exception {
        count().update(value);
        ListStateDescriptor<String> texts = new ListStateDescriptor<>("texts", String.class);
        getRuntimeContext().getListState(texts).add("text " + value);
        MapStateDescriptor<String, Long> sums = new MapStateDescriptor<>("sums", String.class, Long.class);
        getRuntimeContext().getMapState(sums).put("sum", value);
        context.timerService().registerEventTimeTimer(value);
    }

    @Override
    public void onTimer(long time, OnTimerContext context, Collector<String> out) throws Exception {
        out.collect("timer " + time + " of " + count().value());
    }

    public static void main(String[] arguments) throws Exception {
        for (String backend : new String[] {"hashmap", "rocksdb"}) {
            Configuration settings = new Configuration();
            settings.setString("state.backend.type", backend);
            settings.setString("execution.checkpointing.dir", "file://" + arguments[0]);
            settings.setString("execution.checkpointing.interval", "100 ms");
            StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(2, settings);
            env.fromSequence(1, 1000).keyBy(value -> value % 10).process(new Stored()).print();
            env.execute(backend);
        }
    }
}
