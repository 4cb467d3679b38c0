package hidden;

/** A POJO whose first field hides where it ends. */
public class Odd {
    public Thing extra;
    public long id;
    public String name;

    static Odd of(long id) {
        Odd odd = new Odd();
        odd.extra = new Thing(id);
        odd.id = id;
        odd.name = "odd " + id;
        return odd;
    }
}
