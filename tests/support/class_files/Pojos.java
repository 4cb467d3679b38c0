package pojos;

import java.util.List;

/** Classes that Flink takes as POJOs, and classes that it does not: compiled into classes.jar. */
public class Pojos {
    public static class Line {
        public String name;
        public int size;
    }

    public static class Base {
        public long id;
    }

    public static class Child extends Base {
        public List<Line> lines;
        public Plain plain;
        public Beans beans;
    }

    public static class Beans {
        private int count;
        private boolean open;
        private Long other_weight;
        private String ID;

        public Integer getCount() {
            return count;
        }

        public void setCount(int count) {
            this.count = count;
        }

        public boolean isOpen() {
            return open;
        }

        public Beans setOpen(boolean open) {
            this.open = open;
            return this;
        }

        public Long getOtherWeight() {
            return other_weight;
        }

        public void setOther_weight(Long weight) {
            other_weight = weight;
        }

        public String id() {
            return ID;
        }

        public void setid(String id) {
            ID = id;
        }
    }

    public abstract static class Half {
        public int half;

        public Half(int half) {
            this.half = half;
        }
    }

    static class Plain {
        public int count;
    }

    protected static class Guarded {
        public int count;
    }

    public static class Closed {
        public int count;

        Closed() {}
    }

    public static class Asks {
        public int count;

        public Asks(int count) {
            this.count = count;
        }
    }

    public static class NoSetter {
        private int count;

        public int getCount() {
            return count;
        }
    }

    public static class OtherType {
        private int count;

        public long getCount() {
            return count;
        }

        public void setCount(int count) {
            this.count = count;
        }
    }

    public static class Custom {
        public int count;

        private void writeObject(String text) {}
    }

    public static class Empty {
        public static int none;
        public transient int neither;
    }

    public class Inner {
        public int count;
    }

    public static class OfOther extends Asks {
        public OfOther() {
            super(1);
        }
    }
}
