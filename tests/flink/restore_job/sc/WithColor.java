package sc;

/** A case class of Scala with a constant. */
public class WithColor {
    public int id;
    public Color color;
}
