package sc;

/** A case class of Scala with a field of each primitive type. */
public class Basics {
    public int i;
    public long l;
    public String s;
    public double d;
    public boolean b;
    public float f;
    public byte by;
    public short sh;
    public char c;
}
