package splits;

import CDC.connectors.mysql.source.assigners.state.PendingSplitsStateSerializer;
import CDC.connectors.mysql.source.split.MySqlSplitSerializer;
import CDC.connectors.mysql.source.utils.SerializerUtils;

/** Decodes and encodes with the serializers of MySQL's connector, whose packages are {@code CDC}. */
public final class MysqlSplits {
    public static void main(String[] arguments) throws Exception {
        MySqlSplitSerializer splits = MySqlSplitSerializer.INSTANCE;
        Recoded.all(
                splits,
                new PendingSplitsStateSerializer(splits),
                SerializerUtils.rowToSerializedString((Object[]) null),
                "");
    }
}
