package vectors;

import java.util.HexFormat;
import org.apache.flink.core.io.SimpleVersionedSerialization;
import org.apache.iceberg.flink.sink.IcebergVectors;
import org.apache.paimon.flink.VersionedSerializerWrapper;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.manifest.ManifestCommittableSerializer;

/** Prints a line per committable: its name and its bytes with their version, in hexadecimal. */
public final class TableSinks {
    private TableSinks() {}

    public static void main(String[] args) throws Exception {
        print("iceberg", IcebergVectors.committable());
        print("iceberg_empty", IcebergVectors.empty());
        ManifestCommittable late = new ManifestCommittable(9, 77L);
        late.addProperty("owner", "shop");
        print("paimon", paimon(late));
        print("paimon_without_watermark", paimon(new ManifestCommittable(10)));
    }

    private static byte[] paimon(ManifestCommittable committable) throws Exception {
        return SimpleVersionedSerialization.writeVersionAndSerialize(
                new VersionedSerializerWrapper<>(new ManifestCommittableSerializer()), committable);
    }

    private static void print(String name, byte[] data) {
        System.out.println(name + " " + HexFormat.of().formatHex(data));
    }
}
