package ddl;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/** Prints the rows of tables as JSON; each argument is a file with the statement that makes one. */
public final class TableRows {

    public static void main(String[] files) throws Exception {
        TableEnvironment tables = TableEnvironment.create(EnvironmentSettings.inBatchMode());
        ObjectMapper json = new ObjectMapper();
        List<Object> found = new ArrayList<>();
        for (String file : files) {
            tables.executeSql(Files.readString(Path.of(file)));
            List<Object> shown = new ArrayList<>();
            try (CloseableIterator<Row> rows =
                    tables.executeSql("SELECT * FROM state_table").collect()) {
                rows.forEachRemaining(row -> shown.add(plain(row)));
            }
            found.add(shown);
            tables.executeSql("DROP TABLE state_table");
        }
        System.out.write(json.writeValueAsString(found).getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }

    private static Object plain(Object value) {
        if (value instanceof Row row) {
            Map<String, Object> fields = new LinkedHashMap<>();
            row.getFieldNames(true).forEach(name -> fields.put(name, plain(row.getField(name))));
            return fields;
        }
        if (value instanceof Map<?, ?> map) {
            Map<String, Object> entries = new LinkedHashMap<>();
            map.forEach((key, item) -> entries.put((String) key, plain(item)));
            return entries;
        }
        if (value instanceof Object[] array) {
            List<Object> items = new ArrayList<>();
            for (Object item : array) {
                items.add(plain(item));
            }
            return items;
        }
        return value;
    }

    private TableRows() {}
}
