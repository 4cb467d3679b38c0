package versions;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import sun.reflect.ReflectionFactory;

/**
 * Asks serializers of connectors: a line of the input is a class, a version and bytes; the answer is the
 * version that the serializer writes, and whether it reads these bytes.
 */
public final class Versions {
    public static void main(String[] args) throws Exception {
        BufferedReader requests =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            String[] words = line.split(" ");
            // Serializers of files need others, which their versions do not depend on.
            Constructor<?> made =
                    ReflectionFactory.getReflectionFactory()
                            .newConstructorForSerialization(
                                    Class.forName(words[0]), Object.class.getDeclaredConstructor());
            SimpleVersionedSerializer<?> serializer =
                    (SimpleVersionedSerializer<?>) made.newInstance();
            String answer = serializer.getVersion() + " read";
            try {
                serializer.deserialize(Integer.parseInt(words[1]), HexFormat.of().parseHex(words[2]));
            } catch (Exception error) {
                answer = serializer.getVersion() + " refused";
            }
            System.out.println(answer);
        }
    }

    private Versions() {}
}
