package depot;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** A POJO with collections, that lies in others. */
public class Box {
    public List<Item> items;
    public String label;
    public Map<String, Long> counts;

    public static Box of(long number) {
        Box box = new Box();
        box.items = new ArrayList<>();
        for (long item = 0; item < number % 3; item++) {
            box.items.add(Item.of(new Item(), number + item));
        }
        box.label = number % 5 == 0 ? null : "box " + number;
        box.counts = new HashMap<>(Map.of("n", number));
        return box;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Box
                && Objects.equals(((Box) other).items, items)
                && Objects.equals(((Box) other).label, label)
                && Objects.equals(((Box) other).counts, counts);
    }

    @Override
    public int hashCode() {
        return Objects.hash(items, label, counts);
    }
}
