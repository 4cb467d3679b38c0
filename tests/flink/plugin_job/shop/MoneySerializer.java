package shop;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** u8 size, cents of that size as two's complement, three letters. */
public final class MoneySerializer extends OwnSerializer<Money> {
    public static final MoneySerializer INSTANCE = new MoneySerializer();

    @Override
    public void serialize(Money money, DataOutputView target) throws IOException {
        byte[] cents = BigInteger.valueOf(money.cents()).toByteArray();
        target.writeByte(cents.length);
        target.write(cents);
        target.write(money.currency().getBytes(StandardCharsets.US_ASCII));
    }

    @Override
    public Money deserialize(DataInputView source) throws IOException {
        byte[] cents = new byte[source.readUnsignedByte()];
        source.readFully(cents);
        byte[] currency = new byte[3];
        source.readFully(currency);
        return new Money(
                new BigInteger(cents).longValueExact(),
                new String(currency, StandardCharsets.US_ASCII));
    }

    @Override
    public TypeSerializerSnapshot<Money> snapshotConfiguration() {
        return new MoneySerializerSnapshot();
    }

    /** It stores nothing. */
    public static final class MoneySerializerSnapshot extends SimpleTypeSerializerSnapshot<Money> {
        public MoneySerializerSnapshot() {
            super(() -> INSTANCE);
        }
    }
}
