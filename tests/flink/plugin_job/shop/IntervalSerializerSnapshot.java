package shop;

import org.apache.flink.api.common.typeutils.CompositeTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializer;

/** It stores the snapshot of the serializer of both ends. */
public final class IntervalSerializerSnapshot<T>
        extends CompositeTypeSerializerSnapshot<Interval<T>, IntervalSerializer<T>> {
    public IntervalSerializerSnapshot() {}

    IntervalSerializerSnapshot(IntervalSerializer<T> serializer) {
        super(serializer);
    }

    @Override
    protected int getCurrentOuterSnapshotVersion() {
        return 1;
    }

    @Override
    protected TypeSerializer<?>[] getNestedSerializers(IntervalSerializer<T> serializer) {
        return new TypeSerializer<?>[] {serializer.end};
    }

    @Override
    @SuppressWarnings("unchecked")
    protected IntervalSerializer<T> createOuterSerializerWithNestedSerializers(
            TypeSerializer<?>[] nested) {
        return new IntervalSerializer<>((TypeSerializer<T>) nested[0]);
    }
}
