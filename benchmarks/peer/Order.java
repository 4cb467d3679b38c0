package peer;

import java.util.ArrayList;
import java.util.List;

/** A class that is no POJO to Flink, so that Kryo writes it. */
final class Order {
    final long id;
    final String name;
    final double price;
    final Kind kind;
    final List<Long> counts;

    private Order(long id, String name, double price, Kind kind, List<Long> counts) {
        this.id = id;
        this.name = name;
        this.price = price;
        this.kind = kind;
        this.counts = counts;
    }

    static Order of(long key) {
        List<Long> counts = new ArrayList<>();
        for (long index = 0; index < 3; index++) {
            counts.add(key * index);
        }
        Kind kind = Kind.values()[(int) (key % 3)];
        return new Order(key, Customers.nameOf(key), key / 8.0, kind, counts);
    }

    enum Kind {
        NEW,
        PAID,
        SENT
    }
}
