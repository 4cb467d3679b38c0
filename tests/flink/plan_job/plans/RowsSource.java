package plans;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntFunction;
import java.util.function.ToIntFunction;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.table.data.RowData;

/**
 * Reads the lines of a file, all or one half of them, and remembers in its state where it is. After
 * the first half it waits for more; after the second it ends.
 */
final class RowsSource implements Source<RowData, RowsSource.Place, Boolean> {
    /** Lines are emitted from {@code first} on, which a restored reader ignores. */
    static volatile boolean beginsAtHalf;

    static volatile boolean endsAtHalf;

    private final String file;
    private final RowsFormat format;

    RowsSource(String file, RowsFormat format) {
        this.file = file;
        this.format = format;
    }

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.CONTINUOUS_UNBOUNDED;
    }

    @Override
    public SourceReader<RowData, Place> createReader(SourceReaderContext context) throws Exception {
        return new Reader(file, Files.readAllLines(Path.of(file)), format);
    }

    @Override
    public SplitEnumerator<Place, Boolean> createEnumerator(SplitEnumeratorContext<Place> context) {
        return new Enumerator(context, false);
    }

    @Override
    public SplitEnumerator<Place, Boolean> restoreEnumerator(
            SplitEnumeratorContext<Place> context, Boolean isGiven) {
        return new Enumerator(context, isGiven);
    }

    @Override
    public SimpleVersionedSerializer<Place> getSplitSerializer() {
        return new Ints<>(place -> place.line, Place::new);
    }

    @Override
    public SimpleVersionedSerializer<Boolean> getEnumeratorCheckpointSerializer() {
        return new Ints<>(isGiven -> isGiven ? 1 : 0, number -> number == 1);
    }

    /** The next line. */
    static final class Place implements SourceSplit {
        private final int line;

        Place(int line) {
            this.line = line;
        }

        @Override
        public String splitId() {
            return "lines";
        }
    }

    private static final class Reader implements SourceReader<RowData, Place> {
        private final String file;
        private final List<String> lines;
        private final RowsFormat format;
        private final CompletableFuture<Void> given = new CompletableFuture<>();
        private int line = -1;

        Reader(String file, List<String> lines, RowsFormat format) {
            this.file = file;
            this.lines = lines;
            this.format = format;
        }

        @Override
        public void start() {}

        @Override
        public InputStatus pollNext(ReaderOutput<RowData> output) {
            if (line < 0) {
                return InputStatus.NOTHING_AVAILABLE;
            }
            if (line < end()) {
                output.collect(format.row(lines.get(line++)));
            }
            if (line < end()) {
                return InputStatus.MORE_AVAILABLE;
            }
            QueryServer.read(file);
            return endsAtHalf ? InputStatus.NOTHING_AVAILABLE : InputStatus.END_OF_INPUT;
        }

        @Override
        public List<Place> snapshotState(long checkpointId) {
            return line < 0 ? List.of() : List.of(new Place(line));
        }

        @Override
        public CompletableFuture<Void> isAvailable() {
            return line < end() ? given : new CompletableFuture<>();
        }

        private int end() {
            return endsAtHalf ? lines.size() / 2 : lines.size();
        }

        @Override
        public void addSplits(List<Place> splits) {
            line = splits.get(0).line;
            if (line < 0) {
                line = beginsAtHalf ? lines.size() / 2 : 0;
            }
            given.complete(null);
        }

        @Override
        public void notifyNoMoreSplits() {}

        @Override
        public void close() {}
    }

    private static final class Enumerator implements SplitEnumerator<Place, Boolean> {
        private final SplitEnumeratorContext<Place> context;
        private boolean isGiven;

        Enumerator(SplitEnumeratorContext<Place> context, boolean isGiven) {
            this.context = context;
            this.isGiven = isGiven;
        }

        @Override
        public void start() {}

        @Override
        public void handleSplitRequest(int subtask, String host) {}

        @Override
        public void addSplitsBack(List<Place> splits, int subtask) {}

        @Override
        public void addReader(int subtask) {
            if (!isGiven) {
                isGiven = true;
                context.assignSplit(new Place(-1), subtask);
            }
        }

        @Override
        public Boolean snapshotState(long checkpointId) {
            return isGiven;
        }

        @Override
        public void close() {}
    }

    private static final class Ints<T> implements SimpleVersionedSerializer<T> {
        private final ToIntFunction<T> toInt;
        private final IntFunction<T> fromInt;

        Ints(ToIntFunction<T> toInt, IntFunction<T> fromInt) {
            this.toInt = toInt;
            this.fromInt = fromInt;
        }

        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(T value) {
            return ByteBuffer.allocate(4).putInt(toInt.applyAsInt(value)).array();
        }

        @Override
        public T deserialize(int version, byte[] bytes) {
            return fromInt.apply(ByteBuffer.wrap(bytes).getInt());
        }
    }
}
