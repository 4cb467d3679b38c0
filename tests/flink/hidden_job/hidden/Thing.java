package hidden;

import java.util.ArrayList;
import java.util.List;

/** A class for Kryo. */
public final class Thing {
    private final long number;
    private final String text;
    private final List<String> words;

    Thing(long number) {
        this.number = number;
        this.text = "thing " + number;
        this.words = number % 2 == 0 ? List.of() : new ArrayList<>(List.of("w" + number, "v"));
    }
}
