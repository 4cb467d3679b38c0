package hashed;

import java.time.Instant;
import java.time.LocalDate;
import java.util.Objects;
import org.apache.commons.lang3.builder.HashCodeBuilder;

/**
 * Keys whose classes compute their hash codes as programs do: by hand, or as generated.
 *
 * <p>Each class has a method {@code of}, which makes another key of each number.
 */
public final class Keys {
    private Keys() {}

    private static String text(int number) {
        return number % 11 == 5 ? null : "text " + number % 37;
    }

    private static long large(int number) {
        return number * 0x9E3779B97F4A7C15L;
    }

    /** What each class has in common; equal keys have equal texts. */
    public abstract static class Key {
        @Override
        public final boolean equals(Object other) {
            return other != null
                    && other.getClass() == getClass()
                    && other.toString().equals(toString());
        }

        @Override
        public abstract int hashCode();

        @Override
        public abstract String toString();
    }

    /** Fields in another order than that of the alphabet. */
    public static class Hashed extends Key {
        public String shop;
        public int number;
        public double amount;
        public LocalDate day;

        public static Hashed of(int number) {
            Hashed key = new Hashed();
            key.shop = text(number);
            key.number = number;
            key.amount = switch (number % 5) {
                case 0 -> -0.0;
                case 1 -> Double.NaN;
                default -> number / 3.0;
            };
            key.day = LocalDate.of(2026, 1, 1).plusDays(number);
            return key;
        }

        @Override
        public int hashCode() {
            return Objects.hash(shop, number, amount, day);
        }

        @Override
        public String toString() {
            return shop + "/" + number + "/" + amount + "/" + day;
        }
    }

    /** As an IDE writes it, which is what a record computes too; two fields are left out. */
    public static class Chained extends Key {
        public long id;
        public Boolean active;
        public Instant since;
        public byte[] picture;
        public Color color;

        public static Chained of(int number) {
            Chained key = new Chained();
            key.id = large(number);
            key.active = number % 3 == 0 ? null : number % 3 == 1;
            key.since = Instant.ofEpochSecond(number * 1000L, number);
            key.picture = new byte[] {(byte) number};
            key.color = Color.values()[number % 2];
            return key;
        }

        @Override
        public int hashCode() {
            int result = Long.hashCode(id);
            result = 31 * result + Objects.hashCode(since);
            result = 31 * result + Objects.hashCode(active);
            return result;
        }

        @Override
        public String toString() {
            return id + "/" + since + "/" + active;
        }
    }

    /** A field of a key that has no hash code but in its JVM. */
    public enum Color {
        RED,
        BLUE
    }

    /** As Lombok generates it: fields of primitive types first, 43 for null. */
    public static class Lombok extends Key {
        public String name;
        public boolean active;
        public long id;

        public static Lombok of(int number) {
            Lombok key = new Lombok();
            key.name = text(number);
            key.active = number % 2 == 0;
            key.id = large(number);
            return key;
        }

        @Override
        public int hashCode() {
            int result = 1;
            result = result * 59 + (active ? 79 : 97);
            result = result * 59 + (int) (id >>> 32 ^ id);
            result = result * 59 + (name == null ? 43 : name.hashCode());
            return result;
        }

        @Override
        public String toString() {
            return name + "/" + active + "/" + id;
        }
    }

    /** As AutoValue generates it. */
    public static class Auto extends Key {
        public String name;
        public boolean active;
        public float size;

        public static Auto of(int number) {
            Auto key = new Auto();
            key.name = "name " + number;
            key.active = number % 2 == 0;
            key.size = number % 7 == 0 ? -0.0f : number / 7f;
            return key;
        }

        @Override
        public int hashCode() {
            int hash = 1;
            hash *= 1000003;
            hash ^= name.hashCode();
            hash *= 1000003;
            hash ^= active ? 1231 : 1237;
            hash *= 1000003;
            hash ^= Float.floatToIntBits(size);
            return hash;
        }

        @Override
        public String toString() {
            return name + "/" + active + "/" + size;
        }
    }

    /** By the class of Apache Commons Lang. */
    public static class Built extends Key {
        public boolean active;
        public int count;
        public String name;

        public static Built of(int number) {
            Built key = new Built();
            key.active = number % 2 == 0;
            key.count = -number;
            key.name = text(number);
            return key;
        }

        @Override
        public int hashCode() {
            return new HashCodeBuilder(17, 37)
                    .append(name)
                    .append(active)
                    .append(count)
                    .toHashCode();
        }

        @Override
        public String toString() {
            return name + "/" + active + "/" + count;
        }
    }

    /** Hashed by one of its fields. */
    public static class Single extends Key {
        public String id;
        public String note;

        public static Single of(int number) {
            Single key = new Single();
            key.id = "id " + number;
            key.note = text(number);
            return key;
        }

        @Override
        public int hashCode() {
            return id.hashCode();
        }

        @Override
        public String toString() {
            return id;
        }
    }

    /** A key within a key. */
    public static class Outer extends Key {
        public String city;
        public Hashed place;

        public static Outer of(int number) {
            Outer key = new Outer();
            key.city = text(number);
            key.place = Hashed.of(number);
            return key;
        }

        @Override
        public int hashCode() {
            return Objects.hash(place, city);
        }

        @Override
        public String toString() {
            return city + "/" + place;
        }
    }

    /** A record, whose hash code the JDK makes. */
    public record Recorded(String shop, int number, double amount, Long since) {
        public static Recorded of(int number) {
            Hashed key = Hashed.of(number);
            Long since = number % 3 == 0 ? null : large(number);
            return new Recorded(key.shop, number, key.amount, since);
        }
    }
}
