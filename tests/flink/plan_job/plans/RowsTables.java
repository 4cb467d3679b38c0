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
import org.apache.flink.table.connector.source.LookupTableSource;
import org.apache.flink.table.connector.source.ScanTableSource;
import org.apache.flink.table.connector.source.SourceProvider;
import org.apache.flink.table.connector.source.abilities.SupportsProjectionPushDown;
import org.apache.flink.table.connector.source.lookup.LookupFunctionProvider;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.DynamicTableSourceFactory;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.LogicalType;

/**
 * Connector {@code rows}: tables of lines in a file, and tables whose rows the test reads. A table
 * with a {@code name} puts it in front of its rows.
 */
public final class RowsTables implements DynamicTableSourceFactory, DynamicTableSinkFactory {
    private static final ConfigOption<String> PATH =
            ConfigOptions.key("path").stringType().defaultValue("");
    private static final ConfigOption<String> NAME =
            ConfigOptions.key("name").stringType().defaultValue("");
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
        return Set.of(PATH, NAME, UPSERTS);
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
        String name = context.getCatalogTable().getOptions().getOrDefault("name", "");
        return new Results(rows.getLogicalType().getChildren(), name);
    }

    private static final class Rows
            implements ScanTableSource, LookupTableSource, SupportsProjectionPushDown {
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
            return SourceProvider.of(new RowsSource(path, format()));
        }

        @Override
        public LookupRuntimeProvider getLookupRuntimeProvider(LookupContext context) {
            int[] keys = Arrays.stream(context.getKeys()).mapToInt(key -> key[0]).toArray();
            return LookupFunctionProvider.of(new RowsLookup(path, format(), keys));
        }

        private RowsFormat format() {
            List<LogicalType> all =
                    schema.getColumns().stream()
                            .filter(Column::isPhysical)
                            .map(column -> column.getDataType().getLogicalType())
                            .toList();
            List<LogicalType> types = new ArrayList<>(places.stream().map(all::get).toList());
            return new RowsFormat(types, new ArrayList<>(places));
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
        private final String name;

        Results(List<LogicalType> types, String name) {
            this.types = types;
            this.name = name;
        }

        @Override
        public ChangelogMode getChangelogMode(ChangelogMode requested) {
            return requested;
        }

        @Override
        public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
            RowsFormat format = new RowsFormat(new ArrayList<>(types), List.of());
            String name = this.name;
            return new DataStreamSinkProvider() {
                @Override
                public DataStreamSink<?> consumeDataStream(
                        ProviderContext provider, DataStream<RowData> rows) {
                    return rows.map(row -> QueryServer.emitted(format.text(row, name)))
                            .setParallelism(1)
                            .sinkTo(new DiscardingSink<>())
                            .setParallelism(1);
                }
            };
        }

        @Override
        public DynamicTableSink copy() {
            return new Results(types, name);
        }

        @Override
        public String asSummaryString() {
            return "rows";
        }
    }
}
