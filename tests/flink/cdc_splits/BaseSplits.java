package splits;

import CDC.connectors.base.source.assigner.state.PendingSplitsStateSerializer;
import CDC.connectors.base.source.meta.offset.OffsetFactory;
import CDC.connectors.base.source.meta.split.SourceSplitSerializer;
import CDC.connectors.base.utils.SerializerUtils;
import CDC.connectors.postgres.source.offset.PostgresOffsetFactory;

/** Decodes and encodes with the serializers of Postgres' connector, whose packages are {@code CDC}. */
public final class BaseSplits {
    public static void main(String[] arguments) throws Exception {
        OffsetFactory factory = new PostgresOffsetFactory();
        SourceSplitSerializer splits =
                new SourceSplitSerializer() {
                    @Override
                    public OffsetFactory getOffsetFactory() {
                        return factory;
                    }
                };
        Recoded.all(
                splits,
                new PendingSplitsStateSerializer(splits),
                SerializerUtils.rowToSerializedString((Object[]) null),
                SerializerUtils.rowToSerializedString((Object) factory));
    }
}
