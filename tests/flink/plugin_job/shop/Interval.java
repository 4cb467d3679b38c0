package shop;

/** Two ends of the same type. */
public record Interval<T>(T low, T high) {
    @Override
    public String toString() {
        return low + " to " + high;
    }
}
