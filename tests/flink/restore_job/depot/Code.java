package depot;

import java.time.LocalDate;
import java.util.Objects;

/** No POJO, and a key: Kryo writes it. */
public final class Code {
    private final LocalDate day;
    private final Double rate;
    private final String text;

    private Code(LocalDate day, Double rate, String text) {
        this.day = day;
        this.rate = rate;
        this.text = text;
    }

    public static Code of(long number) {
        return new Code(LocalDate.ofEpochDay(number), number / 4.0, "code " + number);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Code
                && Objects.equals(((Code) other).day, day)
                && Objects.equals(((Code) other).rate, rate)
                && Objects.equals(((Code) other).text, text);
    }

    @Override
    public int hashCode() {
        return Objects.hash(day, rate, text);
    }
}
