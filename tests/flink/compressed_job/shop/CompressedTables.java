package shop;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Stream;

/**
 * Takes a checkpoint of a sample's job for each compression of RocksDB's blocks.
 *
 * <p>Arguments: the job, the folder of the input, a folder for checkpoints, the compressions separated by
 * commas, then Flink's configuration as for {@link SampleWriter}. It prints the path of each checkpoint.
 */
public final class CompressedTables {
    private static final String PER_LEVEL = "state.backend.rocksdb.compression.per.level=";

    private CompressedTables() {}

    public static void main(String[] args) throws Exception {
        for (String compression : args[3].split(",")) {
            Path folder = Path.of(args[2], compression);
            String inbox = folder.resolve("inbox").toString();
            String[] sample = {args[0], args[1], inbox, "checkpoint", folder.toString(), "0"};
            String[] own = {
                PER_LEVEL + compression, "execution.checkpointing.dir=" + folder.toUri()
            };
            String[] common = Arrays.copyOfRange(args, 4, args.length);
            Progress.TRANSACTIONS.set(0);
            SampleWriter.main(
                    Stream.of(sample, common, own).flatMap(Stream::of).toArray(String[]::new));
        }
    }
}
