package old;

import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** State of a number under a namespace that is a text, and under one of the job's own. */
final class OddState extends AbstractStreamOperator<String>
        implements OneInputStreamOperator<Integer, String> {
    static final int MOST = 100;

    @Override
    public void processElement(StreamRecord<Integer> element) throws Exception {
        int number = element.getValue();
        if (number >= MOST) {
            return;
        }
        put("text-" + number, StringSerializer.INSTANCE, "by_text", number);
        put(new Odd("odd-" + number), new Odd.Serializer(), "by_odd", number);
    }

    private <N> void put(N namespace, TypeSerializer<N> serializer, String name, int number)
            throws Exception {
        getPartitionedState(
                        namespace, serializer, new ValueStateDescriptor<>(name, Types.INT))
                .update(number);
        getPartitionedState(
                        namespace,
                        serializer,
                        new MapStateDescriptor<>(name + "_map", Types.STRING, Types.INT))
                .put("n" + number, number);
    }
}
