package peer;

/**
 * Writes savepoints through Flink's SavepointWriter, which are canonical, a job each.
 *
 * <p>The rows are made by a sequence source, in no order, which costs less than to read any file.
 *
 * <p>Arguments: their folders, separated by commas, the number of keys, then Flink's
 * configuration. Prints the times of each job.
 */
public final class WriteCanonical {
    private WriteCanonical() {}

    public static void main(String[] arguments) throws Exception {
        long keys = Long.parseLong(arguments[1]);
        Customers.write(
                arguments[0],
                Customers.MAX_PARALLELISM,
                Settings.of(arguments, 2),
                environment ->
                        environment
                                .fromSequence(0, keys - 1)
                                .map(index -> Customers.row(Customers.key(index, keys)))
                                .returns(Customers.ROW));
    }
}
