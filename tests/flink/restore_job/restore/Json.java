package restore;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.java.tuple.Tuple;
import org.apache.flink.api.java.typeutils.ListTypeInfo;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.streaming.api.windowing.windows.GlobalWindow;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.types.Either;
import org.apache.flink.types.Row;

/**
 * Values as the samples' {@code expected.json} writes them, of maps, lists, texts and numbers.
 *
 * <p>What the samples do not have: a map whose keys are not texts is a list of pairs, in the order of
 * their text; bytes are hexadecimal digits; what has no finite value is its name.
 */
final class Json {
    private static final DateTimeFormatter MICROSECONDS =
            DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSSSS'Z'");

    private Json() {}

    /** The value of a type; values of SQL do not know their types themselves. */
    static Object of(Object value, TypeInformation<?> type) {
        if (value instanceof RowData row && type instanceof InternalTypeInfo<?> sql) {
            return SqlData.json(row, sql.toLogicalType());
        }
        if (value instanceof List<?> list && type instanceof ListTypeInfo<?> listType) {
            List<Object> elements = new ArrayList<>();
            list.forEach(element -> elements.add(of(element, listType.getElementTypeInfo())));
            return elements;
        }
        return of(value);
    }

    static Object of(Object value) {
        if (value == null || value instanceof String || value instanceof Boolean) {
            return value;
        }
        if (value instanceof Number number) {
            return number(number);
        }
        if (value instanceof Tuple tuple) {
            return fields(tuple.getArity(), tuple::getField);
        }
        if (value instanceof Row row) {
            // A hashmap backend that restores a row does not know its names.
            return fields(row.getArity(), row::getField);
        }
        if (value instanceof Map<?, ?> map) {
            return map(map);
        }
        if (value instanceof Iterable<?> elements) {
            List<Object> list = new ArrayList<>();
            elements.forEach(element -> list.add(of(element)));
            return list;
        }
        if (value.getClass().isArray()) {
            return array(value);
        }
        return scalar(value);
    }

    private static Object scalar(Object value) {
        if (value instanceof VoidNamespace) {
            return null;
        }
        if (value instanceof TimeWindow window) {
            return List.of(window.getStart(), window.getEnd());
        }
        if (value instanceof GlobalWindow) {
            return "global";
        }
        if (value instanceof Instant instant) {
            return instant(instant);
        }
        if (value instanceof LocalDateTime time) {
            return DateTimeFormatter.ISO_LOCAL_DATE_TIME.format(time);
        }
        if (value instanceof LocalTime time) {
            return DateTimeFormatter.ISO_LOCAL_TIME.format(time);
        }
        if (value instanceof Enum<?> constant) {
            return constant.name();
        }
        if (value instanceof Either<?, ?> either) {
            return either.isLeft()
                    ? singleton("left", either.left())
                    : singleton("right", either.right());
        }
        return value.getClass().getName().startsWith("java.") ? value.toString() : pojo(value);
    }

    private static Object number(Number number) {
        if (number instanceof BigDecimal decimal) {
            return decimal.toPlainString();
        }
        boolean isFinite = Double.isFinite(number.doubleValue()) || number instanceof BigInteger;
        return isFinite ? number : number.toString();
    }

    static String instant(Instant instant) {
        boolean fits = instant.getNano() % 1000 == 0;
        return fits ? MICROSECONDS.format(instant.atOffset(ZoneOffset.UTC)) : instant.toString();
    }

    /** Whose fields have no names but f0, f1 and so on. */
    private static Map<String, Object> fields(int number, FieldOf field) {
        Map<String, Object> fields = new LinkedHashMap<>();
        for (int i = 0; i < number; i++) {
            fields.put("f" + i, of(field.at(i)));
        }
        return fields;
    }

    private static Object map(Map<?, ?> map) {
        if (map.keySet().stream().allMatch(key -> key instanceof String)) {
            Map<String, Object> entries = new LinkedHashMap<>();
            map.forEach((key, value) -> entries.put((String) key, of(value)));
            return entries;
        }
        List<List<Object>> pairs = new ArrayList<>();
        map.forEach((key, value) -> pairs.add(pair(of(key), of(value))));
        pairs.sort(Comparator.comparing(pair -> String.valueOf(pair.get(0))));
        return pairs;
    }

    /** Unlike {@link List#of} it takes null. */
    static List<Object> pair(Object left, Object right) {
        List<Object> pair = new ArrayList<>();
        pair.add(left);
        pair.add(right);
        return pair;
    }

    private static Map<String, Object> singleton(String name, Object value) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put(name, of(value));
        return fields;
    }

    private static Object array(Object array) {
        if (array instanceof byte[] bytes) {
            return HexFormat.of().formatHex(bytes);
        }
        List<Object> elements = new ArrayList<>();
        for (int i = 0; i < Array.getLength(array); i++) {
            elements.add(of(Array.get(array, i)));
        }
        return elements;
    }

    private static Map<String, Object> pojo(Object value) {
        Map<String, Object> fields = new LinkedHashMap<>();
        for (Class<?> type = value.getClass(); type != Object.class; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers())) {
                    fields.put(field.getName(), of(fieldValue(field, value)));
                }
            }
        }
        return fields;
    }

    private static Object fieldValue(Field field, Object value) {
        try {
            field.setAccessible(true);
            return field.get(value);
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

    /** The field of a value, by its place. */
    private interface FieldOf {
        Object at(int place);
    }
}
