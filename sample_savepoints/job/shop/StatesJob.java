package shop;

import org.apache.flink.api.common.functions.Partitioner;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/** An operator with every kind of keyed state, and one with list and union state. */
final class StatesJob {
    private StatesJob() {}

    static void define(StreamExecutionEnvironment env, String inbox) {
        DataStream<Transaction> transactions = Inputs.transactions(env, inbox);
        transactions
                .keyBy(transaction -> transaction.holder)
                .process(new StatefulFunction())
                .uid("stateful")
                .sinkTo(new DiscardingSink<>())
                .uid("stateful_sink");
        transactions
                .partitionCustom(modulo(), transaction -> transaction.id)
                .flatMap(new BufferFunction())
                .uid("buffer")
                .sinkTo(new DiscardingSink<>())
                .uid("buffer_sink");
    }

    /** Unlike a rebalance it always begins at the same subtask. */
    private static Partitioner<Long> modulo() {
        return (id, partitions) -> (int) (id % partitions);
    }
}
