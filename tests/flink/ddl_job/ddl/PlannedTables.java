package ddl;

import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;

/** Plans reads of tables; a line each: empty, or what Flink says against it. */
public final class PlannedTables {

    public static void main(String[] arguments) throws Exception {
        TableEnvironment tables = TableEnvironment.create(EnvironmentSettings.inBatchMode());
        // A file has the statements that make tables, with a line of dashes between them.
        for (String statement : Files.readString(Path.of(arguments[0])).split("\n-----\n")) {
            System.out.println(refusal(tables, statement));
        }
    }

    private static String refusal(TableEnvironment tables, String statement) {
        try {
            tables.executeSql(statement);
        } catch (Exception error) {
            return words(error);
        }
        try {
            tables.explainSql("SELECT * FROM state_table");
            return "";
        } catch (Exception error) {
            return words(error);
        } finally {
            tables.executeSql("DROP TABLE state_table");
        }
    }

    private static String words(Throwable error) {
        Throwable cause = error;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return String.valueOf(cause).replace('\n', ' ');
    }

    private PlannedTables() {}
}
