package moved;

import depot.Item;

/** What {@code depot.RareItem} is called after it was renamed. */
public class RareItem extends Item {
    public long weight;
}
