package restore;

import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Says what time it is as soon as the job runs, before any savepoint is taken of it. */
final class TimeOperator extends AbstractStreamOperator<Object>
        implements OneInputStreamOperator<Object, Object> {
    private final Long watermark;

    /** {@code watermark} is null where nothing is to be said. */
    TimeOperator(Long watermark) {
        this.watermark = watermark;
    }

    @Override
    public void open() throws Exception {
        super.open();
        if (watermark != null) {
            output.emitWatermark(new Watermark(watermark));
        }
    }

    @Override
    public void processElement(StreamRecord<Object> element) {
        output.collect(element);
    }
}
