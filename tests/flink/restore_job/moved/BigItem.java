package moved;

import depot.Item;
import java.util.List;

/** What {@code depot.BigItem} is called after it was renamed. */
public class BigItem extends Item {
    public List<String> marks;
}
