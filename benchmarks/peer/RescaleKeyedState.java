package peer;

import org.apache.flink.configuration.Configuration;

/**
 * Reads the keyed state of a savepoint and writes it with another max parallelism, in one job.
 *
 * <p>Arguments: the savepoint, the folders of the new ones, separated by commas, their max
 * parallelism, then Flink's configuration. Prints the times of each job.
 */
public final class RescaleKeyedState {
    private RescaleKeyedState() {}

    public static void main(String[] arguments) throws Exception {
        Configuration configuration = Settings.of(arguments, 3);
        Customers.write(
                arguments[1],
                Integer.parseInt(arguments[2]),
                configuration,
                environment -> Customers.read(environment, configuration, arguments[0]));
    }
}
