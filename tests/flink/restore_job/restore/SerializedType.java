package restore;

import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.serialization.SerializerConfig;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;

/** The type of what a serializer writes, where Flink has a serializer alone. */
final class SerializedType<T> extends TypeInformation<T> {
    private final TypeSerializer<T> serializer;
    private final Class<T> typeClass;

    SerializedType(TypeSerializer<T> serializer, Class<T> typeClass) {
        this.serializer = serializer;
        this.typeClass = typeClass;
    }

    @Override
    public TypeSerializer<T> createSerializer(SerializerConfig config) {
        return serializer.duplicate();
    }

    /** Flink 1.x has this one too; in 2.x it overrides nothing. */
    public TypeSerializer<T> createSerializer(ExecutionConfig config) {
        return serializer.duplicate();
    }

    @Override
    public boolean isBasicType() {
        return false;
    }

    @Override
    public boolean isTupleType() {
        return false;
    }

    @Override
    public int getArity() {
        return 1;
    }

    @Override
    public int getTotalFields() {
        return 1;
    }

    @Override
    public Class<T> getTypeClass() {
        return typeClass;
    }

    @Override
    public boolean isKeyType() {
        return true;
    }

    @Override
    public String toString() {
        return serializer.toString();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof SerializedType<?> that && serializer.equals(that.serializer);
    }

    @Override
    public int hashCode() {
        return serializer.hashCode();
    }

    @Override
    public boolean canEqual(Object other) {
        return other instanceof SerializedType;
    }
}
