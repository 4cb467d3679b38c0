package plans;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.StatementSet;
import org.apache.flink.table.api.TableEnvironment;

/**
 * Compiles a plan per folder: {@code NAME/tables.sql} has a statement per line, {@code NAME/options} an
 * option per line, {@code NAME/query.sql} an insert per line. Writes {@code NAME/plan.json}.
 */
public final class CompilePlans {
  private CompilePlans() {}

  static void compile(Path queries) throws Exception {
    try (Stream<Path> folders = Files.list(queries)) {
      for (Path folder : folders.sorted().toList()) {
        Files.writeString(folder.resolve("plan.json"), plan(folder));
      }
    }
  }

  private static String plan(Path folder) throws Exception {
    TableEnvironment tables =
        TableEnvironment.create(EnvironmentSettings.newInstance().inStreamingMode().build());
    for (String option : lines(folder, "options")) {
      String[] pair = option.split("=", 2);
      tables.getConfig().set(pair[0], pair[1]);
    }
    for (String statement : lines(folder, "tables.sql")) {
      tables.executeSql(statement);
    }
    List<String> inserts = lines(folder, "query.sql");
    if (inserts.size() == 1) {
      return tables.compilePlanSql(inserts.get(0)).asJsonString();
    }
    StatementSet all = tables.createStatementSet();
    inserts.forEach(all::addInsertSql);
    return all.compilePlan().asJsonString();
  }

  private static List<String> lines(Path folder, String name) throws Exception {
    return Files.readAllLines(folder.resolve(name));
  }
}
