package shop;

/** Flink knows no more of an interface than its name, and hands its objects to Kryo. */
public interface Shape {
    /** A round one. */
    final class Circle implements Shape {
        private final int radius;

        Circle(int radius) {
            this.radius = radius;
        }
    }

    /** One with corners. */
    final class Square implements Shape {
        private final int side;
        private final String colour;

        Square(int side, String colour) {
            this.side = side;
            this.colour = colour;
        }
    }
}
