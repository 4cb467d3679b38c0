import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.Serializer;
import com.esotericsoftware.kryo.io.Output;
import de.javakaffee.kryoserializers.jodatime.JodaDateTimeSerializer;
import de.javakaffee.kryoserializers.jodatime.JodaIntervalSerializer;
import de.javakaffee.kryoserializers.jodatime.JodaLocalDateSerializer;
import de.javakaffee.kryoserializers.jodatime.JodaLocalDateTimeSerializer;
import org.apache.flink.formats.avro.utils.AvroKryoSerializerUtils;
import org.joda.time.DateTime;
import org.joda.time.DateTimeZone;
import org.joda.time.Interval;
import org.joda.time.LocalDate;
import org.joda.time.LocalDateTime;
import org.joda.time.LocalTime;
import org.joda.time.chrono.BuddhistChronology;
import org.joda.time.chrono.CopticChronology;

/** Prints the bytes of Joda's times, by the serializers that jobs register. */
public final class JodaVectors {
    private static final long MILLIS = 1709287200123L;

    private static <T> void print(String name, Serializer<?> serializer, T value) {
        Kryo kryo = new Kryo();
        kryo.register(value.getClass(), serializer);
        Output output = new Output(64, -1);
        kryo.writeObject(output, value);
        StringBuilder text = new StringBuilder(name).append(' ').append(serializer.getClass().getName()).append(' ');
        for (byte one : output.toBytes()) {
            text.append(String.format("%02x", one));
        }
        System.out.println(text);
    }

    public static void main(String[] arguments) {
        DateTimeZone berlin = DateTimeZone.forID("Europe/Berlin");
        print("utc", new JodaDateTimeSerializer(), new DateTime(MILLIS, DateTimeZone.UTC));
        print("berlin", new JodaDateTimeSerializer(), new DateTime(MILLIS, berlin));
        print("offset", new JodaDateTimeSerializer(), new DateTime(-5L, DateTimeZone.forOffsetHours(2)));
        print("buddhist", new JodaDateTimeSerializer(), new DateTime(MILLIS, BuddhistChronology.getInstanceUTC()));
        print("date", new JodaLocalDateSerializer(), new LocalDate(2024, 2, 29));
        print("coptic", new JodaLocalDateSerializer(), new LocalDate(1740, 6, 1, CopticChronology.getInstanceUTC()));
        print("date_time", new JodaLocalDateTimeSerializer(), new LocalDateTime(2024, 2, 29, 10, 11, 12, 345));
        print("first", new JodaLocalDateTimeSerializer(), new LocalDateTime(1, 1, 1, 0, 0, 0, 0));
        print("interval", new JodaIntervalSerializer(), new Interval(5, 7, DateTimeZone.UTC));
        print("avro_date", new AvroKryoSerializerUtils.JodaLocalDateSerializer(), new LocalDate(2024, 2, 29));
        print("avro_time", new AvroKryoSerializerUtils.JodaLocalTimeSerializer(), new LocalTime(10, 11, 12, 345));
    }
}
