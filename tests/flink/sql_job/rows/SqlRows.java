package rows;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamStatementSet;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import shop.LocalCluster;

/**
 * Takes savepoints of a query over three rows that come again and again, one per backend.
 *
 * <p>Arguments: the folder for them, the backends. The last lines that it prints are the paths, in this order.
 */
public final class SqlRows {
    private static final String[] STATEMENTS = {
        "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen',"
                + " 'rows-per-second' = '200', 'fields.n.min' = '0', 'fields.n.max' = '2')",
        "CREATE TEMPORARY VIEW texts AS SELECT n, CASE n WHEN 0 THEN 'a'"
                + " WHEN 1 THEN CAST(NULL AS STRING) ELSE 'longer than a slot' END AS t,"
                + " PARSE_JSON('{\"b\":[1,2.5,null],\"a\":\"x\"}') AS v FROM numbers",
        "CREATE TABLE lists (n BIGINT, ts ARRAY<STRING>, vs ARRAY<VARIANT>,"
                + " rs ARRAY<ROW<n BIGINT, v VARIANT>>) WITH ('connector' = 'blackhole')",
    };
    private static final String INSERT =
            "INSERT INTO lists SELECT n, ARRAY_AGG(t), ARRAY_AGG(v), ARRAY_AGG(ROW(n, v))"
                    + " FROM texts GROUP BY n";

    private SqlRows() {}

    public static void main(String[] args) throws Exception {
        List<String> backends = List.of(args).subList(1, args.length);
        try (LocalCluster cluster = LocalCluster.start(new Configuration(), backends.size())) {
            List<JobID> jobs = new ArrayList<>();
            for (String backend : backends) {
                JobGraph graph = graph(backend);
                cluster.submit(graph);
                jobs.add(graph.getJobID());
            }
            for (JobID job : jobs) {
                cluster.awaitRunning(job);
            }
            // Each of three rows has come by then, all but certainly.
            Thread.sleep(2_000);
            String target = Path.of(args[0]).toUri().toString();
            for (JobID job : jobs) {
                System.out.println(cluster.savepoint(job, target, SavepointFormatType.CANONICAL));
                cluster.cancel(job);
            }
        }
    }

    private static JobGraph graph(String backend) throws Exception {
        Configuration configuration = new Configuration();
        configuration.setString("state.backend.type", backend);
        configuration.setString("parallelism.default", "1");
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        for (String statement : STATEMENTS) {
            tables.executeSql(statement);
        }
        StreamStatementSet inserts = tables.createStatementSet();
        inserts.addInsertSql(INSERT);
        inserts.attachAsDataStream();
        return env.getStreamGraph().getJobGraph();
    }
}
