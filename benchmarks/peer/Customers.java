package peer;

import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;

/** The state that is measured: an operator keyed by a long, with a long and a name per key. */
final class Customers {
    static final String UID = "bench";
    static final int NAME_SIZE = 20;
    static final int MAX_PARALLELISM = 128;

    /** A prime above any number of keys, so that its multiples visit each key once. */
    private static final long STRIDE = Integer.MAX_VALUE;

    private Customers() {}

    static ValueStateDescriptor<Long> count() {
        return new ValueStateDescriptor<>("count", Types.LONG);
    }

    static ValueStateDescriptor<String> name() {
        return new ValueStateDescriptor<>("name", Types.STRING);
    }

    /** The key that comes at an index: keys from 0 to {@code keys}, in no order. */
    static long key(long index, long keys) {
        return index * STRIDE % keys;
    }

    static long countOf(long key) {
        return key + 1;
    }

    static String nameOf(long key) {
        char[] name = new char[NAME_SIZE];
        "customer-".getChars(0, 9, name, 0);
        for (int position = NAME_SIZE - 1; position >= 9; position--) {
            name[position] = (char) ('0' + key % 10);
            key /= 10;
        }
        return new String(name);
    }
}
