package restore;

import java.io.Serializable;
import java.util.List;
import java.util.Map;

/**
 * A savepoint to restore, and what of it to show.
 *
 * @param savepoint the path of the folder with {@code _metadata}; null to start without state
 * @param ends whether the input ends at once, with the last watermark, so that everything fires
 * @param watermark at which event time is from the beginning; null for none
 * @param awaits how many rows are to be shown before the savepoint is taken
 * @param resave where the restored job takes a savepoint of its own; null for none
 * @param format of that savepoint
 * @param configuration Flink's, for this job
 */
record Request(
        String savepoint,
        boolean ends,
        Long watermark,
        int awaits,
        String resave,
        String format,
        Map<String, String> configuration,
        List<Operator> operators) {

    /**
     * An operator, by what the job has in its place.
     *
     * @param function {@code dump}, {@code fire}, {@code find}, {@code window} or {@code trace}
     * @param key the type of its keys; null if it is not keyed
     * @param windows of a window operator, else null
     * @param keys how many of its keys come in where it finds them, else 0
     * @param trace of an operator that tells each call, else null
     * @param rows of a trace of windows: times and numbers, and watermarks, each a time alone
     */
    record Operator(
            String uid,
            String function,
            String key,
            List<State> states,
            List<Timers> timers,
            List<Elements> elements,
            Windows windows,
            int keys,
            Trace trace,
            List<List<Long>> rows)
            implements Serializable {}

    /**
     * A state of keys.
     *
     * @param types of the value, the element or the accumulator; of a map, its key and its value
     * @param ttl in ms; 0 for a state without
     */
    record State(String name, String kind, List<String> types, String namespace, long ttl)
            implements Serializable {}

    /**
     * Rows for a function, each call of which is told.
     *
     * @param does which function, see {@link TraceFunction}
     */
    record Trace(String does, List<Event> events) implements Serializable {}

    /** A row with its timestamp in ms; or a watermark, which has no key. */
    record Event(String key, long at) implements Serializable {}

    /** A timer service. */
    record Timers(String name, String namespace) implements Serializable {}

    /**
     * A state of an operator.
     *
     * @param mode {@code list}, {@code union} or {@code broadcast}
     * @param types of the element; of broadcast state, its key and its value
     */
    record Elements(String name, String mode, List<String> types) implements Serializable {}

    /**
     * Windows of time.
     *
     * @param assigner {@code tumbling}, {@code tumbling by clock} or {@code session}
     * @param size of a window, or the gap of a session, in ms
     * @param contents {@code reduce}, {@code aggregate} or {@code process}
     * @param type of an element, or of the accumulator
     * @param lateness how long a window stays after its end, in ms
     * @param trigger of a trace, in words; empty for that of the assigner
     * @param evictor of a trace, in words; empty for none
     */
    record Windows(
            String assigner,
            long size,
            String contents,
            String type,
            long lateness,
            String trigger,
            String evictor)
            implements Serializable {}
}
