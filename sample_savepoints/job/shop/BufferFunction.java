package shop;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.functions.RichFlatMapFunction;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.util.Collector;

/** Emits in batches; what waits for a full batch is list state, how far it came is union state. */
final class BufferFunction extends RichFlatMapFunction<Transaction, String>
        implements CheckpointedFunction {
    private static final int BATCH = 37;

    private final List<String> waiting = new ArrayList<>();
    private long offset = -1;

    private transient ListState<String> elements;
    private transient ListState<Tuple2<String, Long>> offsets;

    @Override
    public void initializeState(FunctionInitializationContext context) throws Exception {
        elements =
                context.getOperatorStateStore()
                        .getListState(new ListStateDescriptor<>("elements", Types.STRING));
        offsets =
                context.getOperatorStateStore()
                        .getUnionListState(
                                new ListStateDescriptor<>(
                                        "offsets", Types.TUPLE(Types.STRING, Types.LONG)));
    }

    @Override
    public void flatMap(Transaction transaction, Collector<String> out) {
        waiting.add(transaction.id + ":" + transaction.holder);
        offset = transaction.id;
        if (waiting.size() == BATCH) {
            waiting.forEach(out::collect);
            waiting.clear();
        }
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) throws Exception {
        int subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
        elements.update(waiting);
        offsets.update(List.of(Tuple2.of("shard-" + subtask, offset)));
    }
}
