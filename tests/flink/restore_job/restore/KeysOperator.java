package restore;

import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Gives the numbers from 0 on as soon as the job runs, before any savepoint is taken of it. */
final class KeysOperator extends AbstractStreamOperator<Object>
        implements OneInputStreamOperator<Object, Object> {
    private final int count;

    KeysOperator(int count) {
        this.count = count;
    }

    @Override
    public void open() throws Exception {
        super.open();
        for (int number = 0; number < count; number++) {
            output.collect(new StreamRecord<>(number));
        }
    }

    @Override
    public void processElement(StreamRecord<Object> element) {}
}
