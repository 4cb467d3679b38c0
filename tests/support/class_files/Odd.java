package odd;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Classes whose class files say more, or less, than their fields: compiled into classes.jar. */
public class Odd {
    static class Base {
        static int many = 3;
        transient int cached;
        protected short zone;
        private final String[][] names = null;
    }

    static final class Child extends Base {
        public Map<? extends Number, List<int[]>> byNumber;
        public List<?> any;
        public List<String>[] lists;
        public List raw;
        public boolean a;
        public byte b;
        public char c;
        public float d;
        public double e;
    }

    static class Twice extends Base {
        private long zone;
    }

    /** Of an object around it the compiler keeps a field. */
    class Inner {
        private Level level;
    }

    enum Level {
        LOW,
        HIGH {
            @Override
            public String toString() {
                return "high";
            }
        }
    }

    static class Box<T> {
        T value;
    }

    static class Boxes<T> {
        List<T> values;
    }

    static class Words extends ArrayList<String> {}

    abstract static class Bag implements Map<String, Long> {}

    record Point(int x, int y) {}
}
