package changes;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Keeps what the job that runs has found: statics do, because the cluster is in this JVM. */
public final class Seen {
    private static final Map<String, List<String>> KEPT = new TreeMap<>();
    private static int done;

    private Seen() {}

    /** A value of a state; null if the state had none. */
    public static synchronized void kept(String state, Object value) {
        if (value != null) {
            KEPT.computeIfAbsent(state, name -> new ArrayList<>()).add(value.toString());
        }
    }

    /** An element is processed. */
    public static synchronized void done() {
        done++;
    }

    static synchronized int elements() {
        return done;
    }

    /** The texts of values by state, which are forgotten. */
    static synchronized Map<String, List<String>> take() {
        Map<String, List<String>> kept = new TreeMap<>(KEPT);
        KEPT.clear();
        done = 0;
        return kept;
    }
}
