package async;

import java.util.List;
import java.util.stream.IntStream;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamStatementSet;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;

/** Queries of SQL that have asynchronous operators: what they print depends on their state. */
final class Queries {
    private static final TypeInformation<Row> ORDER =
            Types.ROW_NAMED(
                    new String[] {"id", "customer", "amount", "time_ms"},
                    Types.LONG,
                    Types.STRING,
                    Types.INT,
                    Types.LONG);
    private static final TypeInformation<Row> CUSTOMER =
            Types.ROW_NAMED(new String[] {"name", "city"}, Types.STRING, Types.STRING);

    private Queries() {}

    static void define(StreamExecutionEnvironment env, boolean isFirst) {
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.createTemporaryView(
                "orders",
                env.addSource(new AsyncJobs.Given<>(orders(isFirst)), ORDER).uid("orders"),
                Schema.newBuilder()
                        .column("id", "BIGINT")
                        .column("customer", "STRING")
                        .column("amount", "INT")
                        .column("time_ms", "BIGINT")
                        .columnByExpression("placed", "TO_TIMESTAMP_LTZ(time_ms, 3)")
                        .watermark("placed", "placed - INTERVAL '1' HOUR")
                        .build());
        tables.createTemporaryView(
                "customers",
                env.addSource(new AsyncJobs.Given<>(customers(isFirst)), CUSTOMER).uid("customers"),
                Schema.newBuilder().column("name", "STRING").column("city", "STRING").build());
        StreamStatementSet statements = tables.createStatementSet();
        String numbered =
                "SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY %s) AS place";
        insert(
                tables,
                statements,
                "top",
                "customer STRING, id BIGINT, amount INT, place BIGINT",
                "SELECT customer, id, amount, place FROM ("
                        + numbered.formatted("amount DESC")
                        + " FROM orders) WHERE place <= 3");
        insert(
                tables,
                statements,
                "latest",
                "customer STRING, id BIGINT, amount INT",
                "SELECT customer, id, amount FROM ("
                        + numbered.formatted("placed DESC")
                        + " FROM orders) WHERE place = 1");
        insert(
                tables,
                statements,
                "joined",
                "id BIGINT, city STRING",
                "SELECT id, city FROM orders JOIN customers ON customer = name");
        insert(
                tables,
                statements,
                "either",
                "id BIGINT, city STRING",
                "SELECT id, city FROM orders LEFT JOIN customers ON customer = name");
        insert(
                tables,
                statements,
                "total",
                "customer STRING, n BIGINT, amount INT",
                "SELECT customer, COUNT(*), SUM(amount) FROM orders GROUP BY customer");
        statements.attachAsDataStream();
    }

    private static void insert(
            StreamTableEnvironment tables,
            StreamStatementSet statements,
            String table,
            String columns,
            String query) {
        tables.executeSql(
                "CREATE TABLE `%s` (%s) WITH ('connector' = 'print', 'print-identifier' = '%s')"
                        .formatted(table, columns, table));
        statements.addInsertSql("INSERT INTO `%s` %s".formatted(table, query));
    }

    private static List<Row> orders(boolean isFirst) {
        IntStream ids = isFirst ? IntStream.range(0, 60) : IntStream.range(60, 90);
        return ids.mapToObj(
                        id -> {
                            long time = 1_000L * (id * 11 % 97);
                            return Row.of((long) id, "c" + id % 7, id * 37 % 101, time);
                        })
                .toList();
    }

    private static List<Row> customers(boolean isFirst) {
        IntStream numbers = isFirst ? IntStream.range(0, 4) : IntStream.range(4, 6);
        return numbers.mapToObj(number -> Row.of("c" + number, "city " + number)).toList();
    }
}
