package depot;

/** An enum of constants without bodies. */
public enum Grade {
    LOW,
    HIGH
}
