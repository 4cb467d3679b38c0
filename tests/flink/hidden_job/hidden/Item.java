package hidden;

import java.util.Objects;

/** A POJO that may be of a subclass. */
public class Item {
    public long id;
    public String name;

    static Item of(long id) {
        Item item = id % 3 == 0 ? Gift.heavy(id) : new Item();
        item.id = id;
        item.name = "item " + id;
        return item;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Item && ((Item) other).id == id;
    }

    @Override
    public int hashCode() {
        return Objects.hash(id);
    }
}
