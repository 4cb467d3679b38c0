package shop;

import java.lang.reflect.Type;
import java.util.Map;
import org.apache.flink.api.common.typeinfo.TypeInfo;
import org.apache.flink.api.common.typeinfo.TypeInfoFactory;
import org.apache.flink.api.common.typeinfo.TypeInformation;

/** An amount of money, whose bytes the shop decided on before it knew Flink. */
@TypeInfo(Money.Factory.class)
public record Money(long cents, String currency) {
    @Override
    public String toString() {
        return cents + " " + currency;
    }

    /** Tells Flink's type extraction of the serializer, also for fields of POJOs. */
    public static final class Factory extends TypeInfoFactory<Money> {
        @Override
        public TypeInformation<Money> createTypeInfo(
                Type type, Map<String, TypeInformation<?>> parameters) {
            return new OwnType<>(Money.class, MoneySerializer.INSTANCE);
        }
    }
}
