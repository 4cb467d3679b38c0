package depot;

/** The job that writes registers it. */
public class RareItem extends Item {
    public long weight;
}
