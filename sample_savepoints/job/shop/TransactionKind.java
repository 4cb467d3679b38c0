package shop;

/** What a transaction does; {@link StatefulFunction} touches different states for each. */
public enum TransactionKind {
    PURCHASE,
    REFUND,
    TRANSFER,
    CLOSE
}
