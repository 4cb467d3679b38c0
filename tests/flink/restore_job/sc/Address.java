package sc;

/** A case class of Scala, as a POJO. */
public class Address {
    public String street;
    public int zip;
}
