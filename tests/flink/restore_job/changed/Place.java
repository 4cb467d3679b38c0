package changed;

/** What became of {@code shop.Address}: another name, and a field of another name. */
public class Place {
    public String city;
    public Integer postcode;
}
