package plans;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.functions.LookupFunction;

/** Finds the lines of a file by columns. */
public final class RowsLookup extends LookupFunction {
    private static final long serialVersionUID = 1L;

    private final String file;
    private final RowsFormat format;
    private final int[] keys;

    RowsLookup(String file, RowsFormat format, int[] keys) {
        this.file = file;
        this.format = format;
        this.keys = keys;
    }

    @Override
    public Collection<RowData> lookup(RowData values) throws IOException {
        return Files.readAllLines(Path.of(file)).stream()
                .map(format::row)
                .filter(row -> format.has(row, keys, values))
                .toList();
    }
}
