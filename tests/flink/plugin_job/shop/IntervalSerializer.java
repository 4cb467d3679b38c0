package shop;

import java.io.IOException;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** The low end, then the high end. */
public final class IntervalSerializer<T> extends OwnSerializer<Interval<T>> {
    final TypeSerializer<T> end;

    public IntervalSerializer(TypeSerializer<T> end) {
        this.end = end;
    }

    @Override
    public void serialize(Interval<T> interval, DataOutputView target) throws IOException {
        end.serialize(interval.low(), target);
        end.serialize(interval.high(), target);
    }

    @Override
    public Interval<T> deserialize(DataInputView source) throws IOException {
        T low = end.deserialize(source);
        return new Interval<>(low, end.deserialize(source));
    }

    @Override
    public TypeSerializerSnapshot<Interval<T>> snapshotConfiguration() {
        return new IntervalSerializerSnapshot<>(this);
    }
}
