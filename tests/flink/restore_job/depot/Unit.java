package depot;

/** An enum whose constants are of classes of their own. */
public enum Unit {
    PIECE {
        @Override
        int factor() {
            return 1;
        }
    },
    DOZEN {
        @Override
        int factor() {
            return 12;
        }
    };

    abstract int factor();
}
