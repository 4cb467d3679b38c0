package plans;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.catalog.Column;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.ProviderContext;
import org.apache.flink.table.connector.sink.DataStreamSinkProvider;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.connector.source.ScanTableSource;
import org.apache.flink.table.connector.source.SourceProvider;
import org.apache.flink.table.connector.source.abilities.SupportsProjectionPushDown;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.DynamicTableSourceFactory;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.LogicalType;

/** Connector {@code rows}: tables of lines in a file, and tables whose rows the test reads. */
public final class RowsTables implements DynamicTableSourceFactory, DynamicTableSinkFactory {
    private static final ConfigOption<String> PATH =
            ConfigOptions.key("path").stringType().defaultValue("");
    private static final ConfigOption<Boolean> UPSERTS =
            ConfigOptions.key("upserts").booleanType().defaultValue(false);

    @Override
    public String factoryIdentifier() {
        return "rows";
    }

    @Override
    public Set<ConfigOption<?>> requiredOptions() {
        return Set.of();
    }

    @Override
    public Set<ConfigOption<?>> optionalOptions() {
        return Set.of(PATH, UPSERTS);
    }

    @Override
    public DynamicTableSource createDynamicTableSource(Context context) {
        var options = context.getCatalogTable().getOptions();
        return new Rows(
                options.get("path"),
                "true".equals(options.get("upserts")),
                context.getCatalogTable().getResolvedSchema());
    }

    @Override
    public DynamicTableSink createDynamicTableSink(Context context) {
        DataType rows = context.getPhysicalRowDataType();
        return new Results(rows.getLogicalType().getChildren());
    }

    private static final class Rows implements ScanTableSource, SupportsProjectionPushDown {
        private final String path;
        private final boolean hasUpserts;
        private final ResolvedSchema schema;
        private List<Integer> places;

        Rows(String path, boolean hasUpserts, ResolvedSchema schema) {
            this.path = path;
            this.hasUpserts = hasUpserts;
            this.schema = schema;
            int count = (int) schema.getColumns().stream().filter(Column::isPhysical).count();
            places = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                places.add(i);
            }
        }

        @Override
        public boolean supportsNestedProjection() {
            return false;
        }

        @Override
        public void applyProjection(int[][] fields, DataType produced) {
            places = Arrays.stream(fields).map(field -> field[0]).toList();
        }

        @Override
        public ChangelogMode getChangelogMode() {
            return hasUpserts ? ChangelogMode.upsert() : ChangelogMode.insertOnly();
        }

        @Override
        public ScanRuntimeProvider getScanRuntimeProvider(ScanContext context) {
            List<LogicalType> all =
                    schema.getColumns().stream()
                            .filter(Column::isPhysical)
                            .map(column -> column.getDataType().getLogicalType())
                            .toList();
            List<LogicalType> types = new ArrayList<>(places.stream().map(all::get).toList());
            RowsFormat format = new RowsFormat(types, new ArrayList<>(places));
            return SourceProvider.of(new RowsSource(path, format));
        }

        @Override
        public DynamicTableSource copy() {
            Rows copy = new Rows(path, hasUpserts, schema);
            copy.places = places;
            return copy;
        }

        @Override
        public String asSummaryString() {
            return "rows";
        }
    }

    private static final class Results implements DynamicTableSink {
        private final List<LogicalType> types;

        Results(List<LogicalType> types) {
            this.types = types;
        }

        @Override
        public ChangelogMode getChangelogMode(ChangelogMode requested) {
            return requested;
        }

        @Override
        public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
            RowsFormat format = new RowsFormat(new ArrayList<>(types), List.of());
            return new DataStreamSinkProvider() {
                @Override
                public DataStreamSink<?> consumeDataStream(
                        ProviderContext provider, DataStream<RowData> rows) {
                    return rows.map(row -> MigrationJobs.emitted(format.text(row)))
                            .setParallelism(1)
                            .sinkTo(new DiscardingSink<>())
                            .setParallelism(1);
                }
            };
        }

        @Override
        public DynamicTableSink copy() {
            return new Results(types);
        }

        @Override
        public String asSummaryString() {
            return "rows";
        }
    }
}
