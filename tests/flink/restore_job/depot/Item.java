package depot;

import java.util.Objects;

/** A POJO that others extend. */
public class Item {
    public String name;
    public int size;

    static <T extends Item> T of(T item, long number) {
        item.name = "item " + number;
        item.size = (int) number;
        return item;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Item
                && ((Item) other).size == size
                && Objects.equals(((Item) other).name, name);
    }

    @Override
    public int hashCode() {
        return Objects.hash(name, size);
    }
}
