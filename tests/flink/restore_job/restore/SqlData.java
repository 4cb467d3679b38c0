package restore;

import java.time.LocalDate;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.table.data.ArrayData;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.MapData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.LogicalTypeRoot;

/** What SQL keeps in its state, in which a value does not know its type. */
final class SqlData {
    private SqlData() {}

    static Map<String, Object> json(RowData row, LogicalType type) {
        Map<String, Object> fields = new LinkedHashMap<>();
        List<LogicalType> types = type.getChildren();
        for (int i = 0; i < types.size(); i++) {
            RowData.FieldGetter getter = RowData.createFieldGetter(types.get(i), i);
            fields.put("f" + i, value(getter.getFieldOrNull(row), types.get(i)));
        }
        return fields;
    }

    private static Object value(Object value, LogicalType type) {
        if (value == null) {
            return null;
        }
        if (value instanceof RowData row) {
            return json(row, type);
        }
        if (value instanceof ArrayData array) {
            return elements(array, type.getChildren().get(0));
        }
        if (value instanceof MapData map) {
            return entries(map, type.getChildren());
        }
        if (value instanceof DecimalData decimal) {
            return Json.of(decimal.toBigDecimal());
        }
        if (value instanceof TimestampData time) {
            boolean isLocal = type.is(LogicalTypeRoot.TIMESTAMP_WITHOUT_TIME_ZONE);
            return Json.of(isLocal ? time.toLocalDateTime() : time.toInstant());
        }
        return switch (type.getTypeRoot()) {
            case CHAR, VARCHAR -> value.toString();
            case DATE -> LocalDate.ofEpochDay((Integer) value).toString();
            case TIME_WITHOUT_TIME_ZONE ->
                    Json.of(LocalTime.ofNanoOfDay((Integer) value * 1_000_000L));
            default -> Json.of(value);
        };
    }

    private static List<Object> elements(ArrayData array, LogicalType type) {
        ArrayData.ElementGetter getter = ArrayData.createElementGetter(type);
        List<Object> elements = new ArrayList<>();
        for (int i = 0; i < array.size(); i++) {
            elements.add(value(getter.getElementOrNull(array, i), type));
        }
        return elements;
    }

    /** Two types of a map, one of a multiset, which counts its elements. */
    private static List<Object> entries(MapData map, List<LogicalType> types) {
        List<Object> keys = elements(map.keyArray(), types.get(0));
        List<Object> entries = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            Object item =
                    types.size() == 1
                            ? map.valueArray().getInt(i)
                            : elements(map.valueArray(), types.get(1)).get(i);
            entries.add(Json.pair(keys.get(i), item));
        }
        return entries;
    }
}
