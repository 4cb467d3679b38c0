package moved;

import java.time.LocalDate;
import java.util.Objects;

/** What {@code depot.Code} is called after it was renamed. */
public final class Code {
    private final LocalDate day;
    private final Double rate;
    private final String text;

    private Code(LocalDate day, Double rate, String text) {
        this.day = day;
        this.rate = rate;
        this.text = text;
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
