package restore;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * What the subtasks of the job that runs have seen.
 *
 * <p>Statics do: the cluster is in this JVM and has one job at a time.
 */
final class Rows {
    private static final ConcurrentLinkedQueue<Map<String, Object>> ROWS =
            new ConcurrentLinkedQueue<>();

    private static final long PATIENCE = Duration.ofMinutes(2).toNanos();

    private Rows() {}

    /** A row of what comes in turn as names and values. */
    static void add(String uid, int subtask, Object... fields) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("operator", uid);
        row.put("subtask", subtask);
        for (int i = 0; i < fields.length; i += 2) {
            row.put((String) fields[i], fields[i + 1]);
        }
        ROWS.add(row);
    }

    /** Waits until there are so many rows. */
    static void await(int count) throws InterruptedException {
        for (long end = System.nanoTime() + PATIENCE; ROWS.size() < count; Thread.sleep(20)) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException(ROWS.size() + " rows, expected " + count);
            }
        }
    }

    /** All rows so far, which are forgotten. */
    static List<Map<String, Object>> take() {
        List<Map<String, Object>> rows = new ArrayList<>();
        for (Map<String, Object> row = ROWS.poll(); row != null; row = ROWS.poll()) {
            rows.add(row);
        }
        return rows;
    }
}
