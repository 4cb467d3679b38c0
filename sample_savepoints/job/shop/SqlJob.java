package shop;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamStatementSet;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;

/** Three stateful queries over the transactions: an aggregation, a window, a deduplication. */
final class SqlJob {
    private static final TypeInformation<Row> ROW =
            Types.ROW_NAMED(
                    new String[] {"id", "account_id", "holder", "currency_id", "amount", "memo"},
                    Types.LONG,
                    Types.INT,
                    Types.STRING,
                    Types.INT,
                    Types.BIG_DEC,
                    Types.STRING);

    private static final Schema SCHEMA =
            Schema.newBuilder()
                    .column("id", "BIGINT NOT NULL")
                    .column("account_id", "INT NOT NULL")
                    .column("holder", "STRING NOT NULL")
                    .column("currency_id", "INT NOT NULL")
                    .column("amount", "DECIMAL(10, 2)")
                    .column("memo", "STRING")
                    .columnByMetadata("event_time", DataTypes.TIMESTAMP_LTZ(3), "rowtime")
                    .watermark("event_time", "SOURCE_WATERMARK()")
                    .build();

    private SqlJob() {}

    static void define(StreamExecutionEnvironment env, String inbox) {
        DataStream<Row> rows =
                Inputs.transactions(env, inbox)
                        .map(SqlJob::row)
                        .returns(ROW)
                        .setParallelism(1)
                        .uid("rows");
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.createTemporaryView("transactions", rows, SCHEMA);
        StreamStatementSet statements = tables.createStatementSet();
        insert(
                tables,
                statements,
                "by_holder",
                "holder STRING, n BIGINT, total DECIMAL(38, 2), mean INT, first_memo STRING",
                "SELECT holder, COUNT(*), SUM(amount), AVG(currency_id), MIN(memo)"
                        + " FROM transactions GROUP BY holder");
        insert(
                tables,
                statements,
                "by_hour",
                "currency_id INT, window_end TIMESTAMP(3), n BIGINT, total DECIMAL(38, 2)",
                "SELECT currency_id, window_end, COUNT(*), SUM(amount) FROM TABLE("
                        + "TUMBLE(TABLE transactions, DESCRIPTOR(event_time), INTERVAL '1' HOUR))"
                        + " GROUP BY currency_id, window_start, window_end");
        insert(
                tables,
                statements,
                "latest",
                "account_id INT, id BIGINT, memo STRING, event_time TIMESTAMP_LTZ(3)",
                "SELECT account_id, id, memo, event_time FROM (SELECT *, ROW_NUMBER() OVER ("
                        + "PARTITION BY account_id ORDER BY event_time DESC) AS place"
                        + " FROM transactions) WHERE place = 1");
        statements.attachAsDataStream();
    }

    private static void insert(
            StreamTableEnvironment tables,
            StreamStatementSet statements,
            String table,
            String columns,
            String query) {
        tables.executeSql(
                "CREATE TABLE " + table + " (" + columns + ") WITH ('connector' = 'blackhole')");
        statements.addInsertSql("INSERT INTO " + table + " " + query);
    }

    private static Row row(Transaction transaction) {
        return Row.of(
                transaction.id,
                transaction.accountId,
                transaction.holder,
                transaction.currencyId,
                transaction.decimalAmount(),
                transaction.memo);
    }
}
