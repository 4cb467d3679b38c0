package peer;

import java.util.HashMap;
import java.util.Map;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.runtime.state.StateBackendLoader;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Flink's configuration, given as key=value behind the other arguments. */
final class Settings {
    private Settings() {}

    static Configuration of(String[] arguments, int start) {
        Map<String, String> entries = new HashMap<>();
        for (int index = start; index < arguments.length; index++) {
            String[] pair = arguments[index].split("=", 2);
            entries.put(pair[0], pair[1]);
        }
        return Configuration.fromMap(entries);
    }

    static StreamExecutionEnvironment environment(Configuration configuration) {
        StreamExecutionEnvironment environment =
                StreamExecutionEnvironment.createLocalEnvironment(
                        configuration.get(CoreOptions.DEFAULT_PARALLELISM), configuration);
        environment.setMaxParallelism(Customers.MAX_PARALLELISM);
        environment.getConfig().enableObjectReuse();
        return environment;
    }

    static StateBackend backend(Configuration configuration) throws Exception {
        return StateBackendLoader.loadStateBackendFromConfig(
                configuration, Settings.class.getClassLoader(), null);
    }
}
