package plans;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.PlanReference;
import org.apache.flink.table.api.StatementSet;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/**
 * Compiles and runs one plan with many queries; their results are printed.
 *
 * <p>{@code tables.sql}, {@code options} and {@code queries.sql} of the folder have a statement per line. Steps:
 * {@code compile} writes {@code plan.json}; {@code run FOLDER ROWS [SAVEPOINT]} runs the plan over the rows of a
 * folder to their end; {@code savepoint FOLDER ROWS} takes a savepoint once all rows were read.
 */
public final class HistoryJobs {
    private HistoryJobs() {}

    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[0]);
        for (int index = 1; index < args.length; index++) {
            String[] step = args[index].split(":", 3);
            switch (step[0]) {
                case "compile" -> compile(folder);
                case "run" -> run(folder, step[1], step.length > 2 ? step[2] : null);
                case "savepoint" -> savepoint(folder, step[1]);
                default -> throw new IllegalArgumentException(args[index]);
            }
        }
    }

    private static void compile(Path folder) throws Exception {
        StreamTableEnvironment tables = environment(folder, "first", "", null);
        StatementSet inserts = tables.createStatementSet();
        for (String insert : lines(folder, "queries.sql")) {
            inserts.addInsertSql(insert);
        }
        Files.writeString(folder.resolve("plan.json"), inserts.compilePlan().asJsonString());
    }

    private static void run(Path folder, String rows, String savepoint) throws Exception {
        start(environment(folder, rows, "", savepoint), folder).await();
        System.out.println("ended " + rows);
    }

    private static void savepoint(Path folder, String rows) throws Exception {
        String watched = ", 'source.monitor-interval' = '1 s'";
        JobClient job = start(environment(folder, rows, watched, null), folder).getJobClient().get();
        // All rows were read long before, and a barrier comes behind them.
        Thread.sleep(8_000);
        if (job.getJobExecutionResult().isDone()) {
            job.getJobExecutionResult().get();
        }
        String target = folder.resolve("taken").toUri().toString();
        String path = job.triggerSavepoint(target, SavepointFormatType.CANONICAL).get();
        job.cancel().get();
        System.out.println("savepoint " + path);
    }

    private static TableResult start(StreamTableEnvironment tables, Path folder) throws Exception {
        return tables.loadPlan(PlanReference.fromFile(folder.resolve("plan.json"))).execute();
    }

    private static StreamTableEnvironment environment(
            Path folder, String rows, String watched, String savepoint) throws Exception {
        Configuration configuration = new Configuration();
        configuration.setString("parallelism.default", "1");
        configuration.setString("restart-strategy.type", "none");
        if (savepoint != null) {
            configuration.setString("execution.state-recovery.path", savepoint);
            configuration.setString("execution.savepoint.path", savepoint);
        }
        StreamTableEnvironment tables =
                StreamTableEnvironment.create(
                        StreamExecutionEnvironment.getExecutionEnvironment(configuration));
        for (String option : lines(folder, "options")) {
            String[] pair = option.split("=", 2);
            tables.getConfig().set(pair[0], pair[1]);
        }
        for (String statement : lines(folder, "tables.sql")) {
            tables.executeSql(
                    statement
                            .replace("ROWS", folder.resolve(rows).toString())
                            .replace("WATCHED", watched)
                            .replace("STEP", rows));
        }
        return tables;
    }

    private static List<String> lines(Path folder, String name) throws Exception {
        return Files.readAllLines(folder.resolve(name));
    }
}
