package shop;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * How far the input is read: the job counts, the program that takes the savepoint waits.
 *
 * <p>Statics do, because the local cluster runs in the same JVM and every JVM runs one job.
 */
final class Progress {
    /** Transactions that the source has handed on; a barrier that comes later comes behind them. */
    static final AtomicInteger TRANSACTIONS = new AtomicInteger();

    /** Counted down by each rate in each subtask of the currency converter. */
    static volatile CountDownLatch missingRates = new CountDownLatch(0);

    private Progress() {}
}
