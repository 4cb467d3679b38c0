package changes;

import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Gives the numbers from 0 on as soon as the job runs, before any savepoint is taken of it. */
public final class Keys extends AbstractStreamOperator<Integer>
        implements OneInputStreamOperator<String, Integer> {
    public static final int COUNT = 5;

    @Override
    public void open() throws Exception {
        super.open();
        for (int number = 0; number < COUNT; number++) {
            output.collect(new StreamRecord<>(number));
        }
    }

    @Override
    public void processElement(StreamRecord<String> element) {}
}
