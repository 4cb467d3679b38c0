package restore;

import java.lang.reflect.Method;
import org.apache.flink.api.java.functions.KeySelector;

/** The key of a number, by the method {@code of} of the class of keys. */
final class KeyOf implements KeySelector<Object, Object> {
    private final Class<?> keys;
    private transient Method of;

    KeyOf(Class<?> keys) {
        this.keys = keys;
    }

    @Override
    public Object getKey(Object number) throws ReflectiveOperationException {
        if (of == null) {
            of = keys.getMethod("of", int.class);
        }
        return of.invoke(null, number);
    }
}
