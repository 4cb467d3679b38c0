package hidden;

/** Registered nowhere. */
public class Gift extends Item {
    public String ribbon;
    public long weight;

    static Gift heavy(long weight) {
        Gift gift = new Gift();
        gift.ribbon = "ribbon " + weight;
        gift.weight = weight << 20;
        return gift;
    }
}
