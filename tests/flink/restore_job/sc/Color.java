package sc;

/** An Enumeration of Scala, as an enum. */
public enum Color {
    Cyan,
    Magenta,
    Yellow
}
