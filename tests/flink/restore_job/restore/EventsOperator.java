package restore;

import java.util.List;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Gives rows and watermarks in their order as soon as the job runs. */
final class EventsOperator extends AbstractStreamOperator<Tuple2<String, Long>>
        implements OneInputStreamOperator<Object, Tuple2<String, Long>> {
    private final List<Request.Event> events;

    EventsOperator(List<Request.Event> events) {
        this.events = events;
    }

    @Override
    public void open() throws Exception {
        super.open();
        for (Request.Event event : events) {
            if (event.key() == null) {
                output.emitWatermark(new Watermark(event.at()));
            } else {
                output.collect(new StreamRecord<>(Tuple2.of(event.key(), event.at()), event.at()));
            }
        }
    }

    @Override
    public void processElement(StreamRecord<Object> element) {}
}
