package old;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.base.TypeSerializerSingleton;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** A text with a serializer of the job's own: a byte with the size, and the bytes. */
public final class Odd {
    final String text;

    Odd(String text) {
        this.text = text;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Odd && ((Odd) other).text.equals(text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    /** Its serializer, of a variable length. */
    public static final class Serializer extends TypeSerializerSingleton<Odd> {
        @Override
        public boolean isImmutableType() {
            return true;
        }

        @Override
        public Odd createInstance() {
            return new Odd("");
        }

        @Override
        public Odd copy(Odd from) {
            return from;
        }

        @Override
        public Odd copy(Odd from, Odd reuse) {
            return from;
        }

        @Override
        public int getLength() {
            return -1;
        }

        @Override
        public void serialize(Odd record, DataOutputView target) throws IOException {
            byte[] bytes = record.text.getBytes(StandardCharsets.UTF_8);
            target.writeByte(bytes.length);
            target.write(bytes);
        }

        @Override
        public Odd deserialize(DataInputView source) throws IOException {
            byte[] bytes = new byte[source.readUnsignedByte()];
            source.readFully(bytes);
            return new Odd(new String(bytes, StandardCharsets.UTF_8));
        }

        @Override
        public Odd deserialize(Odd reuse, DataInputView source) throws IOException {
            return deserialize(source);
        }

        @Override
        public void copy(DataInputView source, DataOutputView target) throws IOException {
            serialize(deserialize(source), target);
        }

        @Override
        public TypeSerializerSnapshot<Odd> snapshotConfiguration() {
            return new Snapshot();
        }
    }

    /** What a savepoint says about the serializer: the name of this class. */
    public static final class Snapshot extends SimpleTypeSerializerSnapshot<Odd> {
        public Snapshot() {
            super(Serializer::new);
        }
    }

    /** The type of keys. */
    static final class Type extends TypeInformation<Odd> {
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
        public Class<Odd> getTypeClass() {
            return Odd.class;
        }

        @Override
        public boolean isKeyType() {
            return true;
        }

        @Override
        public TypeSerializer<Odd> createSerializer(ExecutionConfig config) {
            return new Serializer();
        }

        @Override
        public String toString() {
            return "Odd";
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Type;
        }

        @Override
        public int hashCode() {
            return 1;
        }

        @Override
        public boolean canEqual(Object other) {
            return other instanceof Type;
        }
    }
}
