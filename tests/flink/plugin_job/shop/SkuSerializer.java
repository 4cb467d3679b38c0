package shop;

import java.io.IOException;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** long supplier, writeUTF number. */
public final class SkuSerializer extends OwnSerializer<Sku> {
    public static final SkuSerializer INSTANCE = new SkuSerializer();

    @Override
    public void serialize(Sku sku, DataOutputView target) throws IOException {
        target.writeLong(sku.supplier());
        target.writeUTF(sku.number());
    }

    @Override
    public Sku deserialize(DataInputView source) throws IOException {
        return new Sku(source.readLong(), source.readUTF());
    }

    @Override
    public TypeSerializerSnapshot<Sku> snapshotConfiguration() {
        return new SkuSerializerSnapshot();
    }

    /** It stores nothing. */
    public static final class SkuSerializerSnapshot extends SimpleTypeSerializerSnapshot<Sku> {
        public SkuSerializerSnapshot() {
            super(() -> INSTANCE);
        }
    }
}
