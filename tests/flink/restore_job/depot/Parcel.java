package depot;

import java.util.ArrayList;
import java.util.List;

/** No POJO, for it has no constructor without arguments: Kryo writes its fields. */
public final class Parcel {
    private final List<List<String>> labels;
    private final long number;

    Parcel(long number) {
        this.number = number;
        this.labels = new ArrayList<>();
        labels.add(new ArrayList<>(List.of("a" + number, "b")));
        labels.add(new ArrayList<>());
    }
}
