package sc;

/** A case class of Scala, whose constructor has its fields in another order than their names. */
public class Fixed {
    public long b;
    public int a;
}
