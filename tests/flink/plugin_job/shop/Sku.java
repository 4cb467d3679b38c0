package shop;

import java.util.Objects;

/** What is sold: a key with a hash code of its own. */
public record Sku(long supplier, String number) {
    @Override
    public int hashCode() {
        return Objects.hash(supplier, number);
    }

    @Override
    public String toString() {
        return supplier + "/" + number;
    }
}
