package shop;

/** A POJO that may be of a subclass, of which no serializer knows before it meets one. */
public class Payment {
    public long cents;
    public String payer;
}
