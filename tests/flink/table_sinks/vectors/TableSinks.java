package vectors;

import java.util.HexFormat;
import java.util.List;
import org.apache.flink.core.io.SimpleVersionedSerialization;
import org.apache.iceberg.flink.sink.IcebergVectors;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.flink.VersionedSerializerWrapper;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.FileSource;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.manifest.ManifestCommittableSerializer;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.table.sink.CommitMessageImpl;

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
        ManifestCommittable files = new ManifestCommittable(11);
        files.addFileCommittable(message("2026-11-23", 3, file("data-0001.parquet")));
        files.addFileCommittable(message("2026-11-23", 4));
        print("paimon_files", paimon(files));
    }

    private static CommitMessageImpl message(String day, int bucket, DataFileMeta... files) {
        return new CommitMessageImpl(
                BinaryRow.singleColumn(day),
                bucket,
                8,
                new DataIncrement(List.of(files), List.of(), List.of()),
                new CompactIncrement(List.of(), List.of(file("c")), List.of()));
    }

    private static DataFileMeta file(String name) {
        return DataFileMeta.forAppend(
                name,
                1024,
                10,
                SimpleStats.EMPTY_STATS,
                0,
                9,
                1,
                List.of(),
                null,
                FileSource.APPEND,
                null,
                null);
    }

    private static byte[] paimon(ManifestCommittable committable) throws Exception {
        return SimpleVersionedSerialization.writeVersionAndSerialize(
                new VersionedSerializerWrapper<>(new ManifestCommittableSerializer()), committable);
    }

    private static void print(String name, byte[] data) {
        System.out.println(name + " " + HexFormat.of().formatHex(data));
    }
}
