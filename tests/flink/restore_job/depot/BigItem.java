package depot;

import java.util.List;

/** Registered nowhere, and with a collection of its own. */
public class BigItem extends Item {
    public List<String> marks;
}
