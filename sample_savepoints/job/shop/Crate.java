package shop;

import java.util.ArrayList;

/** A POJO with a list of objects that only their class could tell, and fields behind it. */
public class Crate {
    public int count;
    public ArrayList<Parcel> parcels;
    public Long weight;
    public String zone;
}
