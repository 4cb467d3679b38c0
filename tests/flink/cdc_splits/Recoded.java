package splits;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HexFormat;

import org.apache.flink.core.io.SimpleVersionedSerializer;

/** Prints what a serializer makes of what the input has, a line each: kind, version, bytes. */
final class Recoded {
    static <S, E> void all(
            SimpleVersionedSerializer<S> splits,
            SimpleVersionedSerializer<E> enumerators,
            String emptyRow,
            String factory)
            throws Exception {
        System.out.println(emptyRow + " " + factory);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            int version = Integer.parseInt(words[1]);
            byte[] data = HexFormat.of().parseHex(words[2]);
            System.out.println(
                    words[0].equals("split")
                            ? recoded(splits, version, data)
                            : recoded(enumerators, version, data));
        }
    }

    private static <T> String recoded(SimpleVersionedSerializer<T> serializer, int version, byte[] data)
            throws Exception {
        byte[] written = serializer.serialize(serializer.deserialize(version, data));
        return serializer.getVersion() + " " + HexFormat.of().formatHex(written);
    }
}
