package hidden;

/** A POJO with others in its fields. */
public class Holder {
    public Item first;
    public long number;
    public Item second;
    public String tail;

    static Holder of(long number) {
        Holder holder = new Holder();
        holder.first = Item.of(number);
        holder.number = number;
        holder.second = number % 4 == 0 ? null : Item.of(number + 1);
        holder.tail = "tail " + number;
        return holder;
    }
}
