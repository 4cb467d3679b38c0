package plans;

import java.io.Serializable;
import java.math.BigDecimal;
import java.time.LocalDateTime;
import java.util.List;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.types.RowKind;

/** Lines {@code +I|1|text}, and rows as texts. */
final class RowsFormat implements Serializable {
    private static final long serialVersionUID = 1L;

    private final List<LogicalType> types;
    private final List<Integer> places;

    /** {@code places} are the numbers of the columns in a line. */
    RowsFormat(List<LogicalType> types, List<Integer> places) {
        this.types = types;
        this.places = places;
    }

    RowData row(String line) {
        String[] values = line.split("\\|", -1);
        GenericRowData row = new GenericRowData(kind(values[0]), types.size());
        for (int i = 0; i < types.size(); i++) {
            String value = values[1 + places.get(i)];
            row.setField(i, value.isEmpty() ? null : field(types.get(i), value));
        }
        return row;
    }

    /** The row's kind and values; the name of its table, if any, is in front of the values. */
    String text(RowData row, String name) {
        StringBuilder text = new StringBuilder(row.getRowKind().shortString());
        if (!name.isEmpty()) {
            text.append('|').append(name);
        }
        for (int i = 0; i < types.size(); i++) {
            Object value = RowData.createFieldGetter(types.get(i), i).getFieldOrNull(row);
            text.append('|').append(value == null ? "" : value);
        }
        return text.toString();
    }

    /** Whether fields of a row have the values of another row, in order. */
    boolean has(RowData row, int[] fields, RowData values) {
        for (int i = 0; i < fields.length; i++) {
            LogicalType type = types.get(fields[i]);
            Object wanted = RowData.createFieldGetter(type, i).getFieldOrNull(values);
            Object given = RowData.createFieldGetter(type, fields[i]).getFieldOrNull(row);
            if (wanted == null || !wanted.equals(given)) {
                return false;
            }
        }
        return true;
    }

    private static RowKind kind(String text) {
        for (RowKind kind : RowKind.values()) {
            if (kind.shortString().equals(text)) {
                return kind;
            }
        }
        throw new IllegalArgumentException(text);
    }

    private static Object field(LogicalType type, String value) {
        switch (type.getTypeRoot()) {
            case INTEGER:
                return Integer.valueOf(value);
            case BIGINT:
                return Long.valueOf(value);
            case DOUBLE:
                return Double.valueOf(value);
            case VARCHAR:
                return StringData.fromString(value);
            case DECIMAL:
                DecimalType decimal = (DecimalType) type;
                return DecimalData.fromBigDecimal(
                        new BigDecimal(value), decimal.getPrecision(), decimal.getScale());
            case TIMESTAMP_WITHOUT_TIME_ZONE:
                return TimestampData.fromLocalDateTime(LocalDateTime.parse(value));
            default:
                throw new IllegalArgumentException(type.asSummaryString());
        }
    }
}
