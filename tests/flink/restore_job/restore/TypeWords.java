package restore;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.typeutils.PojoTypeInfo;
import org.apache.flink.api.java.typeutils.runtime.NullableSerializer;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.streaming.api.windowing.windows.GlobalWindow;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;

/**
 * Types in words: {@code MAP<STRING, TUPLE<LONG, DOUBLE>>}.
 *
 * <p>A word is the name of a constant or a function of Flink's {@link Types}. {@code ROW<a LONG>} has
 * named fields, {@code POJO<shop.Customer>} the fields that its method typeInformation or else
 * reflection tells, {@code GENERIC<shop.Shape>} is left to Kryo, {@code NULLABLE<LONG>} has a null flag, {@code ROW_DATA<ROW<a BIGINT>>} is SQL's,
 * and there are {@code TIME_WINDOW} and {@code GLOBAL_WINDOW}.
 */
final class TypeWords {
    private TypeWords() {}

    @SuppressWarnings("unchecked")
    static TypeInformation<Object> type(String text) {
        return (TypeInformation<Object>) parsed(text.strip());
    }

    @SuppressWarnings("unchecked")
    static TypeSerializer<Object> namespace(String text) {
        return text.equals("VOID")
                ? (TypeSerializer<Object>) (TypeSerializer<?>) VoidNamespaceSerializer.INSTANCE
                : type(text).createSerializer(new SerializerConfigImpl());
    }

    private static TypeInformation<?> parsed(String text) {
        int open = text.indexOf('<');
        if (open < 0) {
            return switch (text) {
                case "TIME_WINDOW" ->
                        new SerializedType<>(new TimeWindow.Serializer(), TimeWindow.class);
                case "GLOBAL_WINDOW" ->
                        new SerializedType<>(new GlobalWindow.Serializer(), GlobalWindow.class);
                default -> constant(text);
            };
        }
        String inner = text.substring(open + 1, text.lastIndexOf('>')).strip();
        ClassLoader classes = TypeWords.class.getClassLoader();
        return switch (text.substring(0, open)) {
            case "LIST" -> Types.LIST(type(inner));
            case "MAP" -> Types.MAP(types(inner)[0], types(inner)[1]);
            case "TUPLE" -> Types.TUPLE(types(inner));
            case "EITHER" -> Types.EITHER(types(inner)[0], types(inner)[1]);
            case "PRIMITIVE_ARRAY" -> Types.PRIMITIVE_ARRAY(type(inner));
            case "OBJECT_ARRAY" -> Types.OBJECT_ARRAY(type(inner));
            case "NULLABLE" -> nullable(type(inner));
            case "ROW" -> row(parts(inner));
            case "POJO" -> pojo(inner);
            case "GENERIC" -> generic(inner);
            case "ENUM" -> enumeration(inner);
            case "ROW_DATA" -> InternalTypeInfo.of(LogicalTypeParser.parse(inner, classes));
            default -> throw new IllegalArgumentException("no type " + text);
        };
    }

    private static TypeInformation<?> constant(String name) {
        try {
            return (TypeInformation<?>) Types.class.getField(name).get(null);
        } catch (ReflectiveOperationException error) {
            throw new IllegalArgumentException("no type " + name, error);
        }
    }

    private static <T> TypeInformation<T> nullable(TypeInformation<T> type) {
        TypeSerializer<T> serializer = type.createSerializer(new SerializerConfigImpl());
        return new SerializedType<>(
                NullableSerializer.wrap(serializer, false), type.getTypeClass());
    }

    private static TypeInformation<?> row(List<String> fields) {
        if (fields.stream().noneMatch(field -> field.split("<")[0].contains(" "))) {
            return Types.ROW(fields.stream().map(TypeWords::type).toArray(TypeInformation[]::new));
        }
        String[] names = fields.stream().map(field -> field.split(" ")[0]).toArray(String[]::new);
        return Types.ROW_NAMED(
                names,
                fields.stream()
                        .map(field -> type(field.substring(field.indexOf(' '))))
                        .toArray(TypeInformation[]::new));
    }

    private static TypeInformation<?> pojo(String name) {
        try {
            Class<?> pojo = Class.forName(name);
            try {
                return (PojoTypeInfo<?>) pojo.getMethod("typeInformation").invoke(null);
            } catch (NoSuchMethodException none) {
                return Types.POJO(pojo);
            }
        } catch (ReflectiveOperationException error) {
            throw new IllegalArgumentException("no POJO " + name, error);
        }
    }

    private static TypeInformation<?> generic(String name) {
        try {
            return Types.GENERIC(Class.forName(name));
        } catch (ClassNotFoundException error) {
            throw new IllegalArgumentException("no class " + name, error);
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static TypeInformation<?> enumeration(String name) {
        try {
            return Types.ENUM((Class) Class.forName(name));
        } catch (ClassNotFoundException error) {
            throw new IllegalArgumentException("no enum " + name, error);
        }
    }

    private static TypeInformation<?>[] types(String text) {
        return parts(text).stream().map(TypeWords::type).toArray(TypeInformation[]::new);
    }

    /** Splits at the commas that are not within brackets. */
    private static List<String> parts(String text) {
        List<String> parts = new ArrayList<>();
        int depth = 0;
        int start = 0;
        for (int i = 0; i < text.length(); i++) {
            switch (text.charAt(i)) {
                case '<', '(' -> depth++;
                case '>', ')' -> depth--;
                case ',' -> {
                    if (depth == 0) {
                        parts.add(text.substring(start, i).strip());
                        start = i + 1;
                    }
                }
                default -> {}
            }
        }
        parts.add(text.substring(start).strip());
        return parts;
    }
}
