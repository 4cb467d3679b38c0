package shop;

/** A POJO inside the POJO {@link Customer}. */
public class Address {
    public String city;
    public Integer zip;
}
