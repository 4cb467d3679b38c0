package depot;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** A POJO that is a key, with a list. */
public class Place {
    public List<String> path;
    public int shelf;

    public static Place of(long number) {
        Place place = new Place();
        place.path = new ArrayList<>(List.of("hall", "row " + number % 7));
        place.shelf = (int) number;
        return place;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Place
                && ((Place) other).shelf == shelf
                && Objects.equals(((Place) other).path, path);
    }

    @Override
    public int hashCode() {
        return Objects.hash(path, shelf);
    }
}
