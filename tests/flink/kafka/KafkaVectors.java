package org.apache.flink.connector.kafka.sink;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.apache.flink.connector.kafka.source.enumerator.KafkaSourceEnumState;
import org.apache.flink.connector.kafka.source.enumerator.KafkaSourceEnumStateSerializer;
import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplit;
import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplitSerializer;
import org.apache.flink.core.io.SimpleVersionedSerialization;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.SimpleCounter;
import org.apache.kafka.common.TopicPartition;

/** Prints what the serializers of Kafka's connector write: a name and hexadecimal bytes per line. */
public final class KafkaVectors {

    public static void main(String[] args) throws Exception {
        TopicPartition orders = new TopicPartition("orders", 3);
        KafkaPartitionSplitSerializer splits = new KafkaPartitionSplitSerializer();
        print("split", splits, new KafkaPartitionSplit(orders, 42L));
        print("bounded_split", splits, new KafkaPartitionSplit(orders, 42L, 99L));
        print("earliest_split", splits, new KafkaPartitionSplit(orders, -2L));
        print(
                "enumerator",
                new KafkaSourceEnumStateSerializer(),
                new KafkaSourceEnumState(
                        Set.of(orders), Set.of(new TopicPartition("payments", 0)), true));
        print(
                "enumerator_of_payments",
                new KafkaSourceEnumStateSerializer(),
                new KafkaSourceEnumState(Set.of(), Set.of(new TopicPartition("payments", 0)), true));
        System.out.println(
                "partitions_1 "
                        + HexFormat.of()
                                .formatHex(
                                        KafkaSourceEnumStateSerializer.serializeTopicPartitions(
                                                List.of(orders))));
        print("writer", new KafkaWriterStateSerializer(), writerState());
        Constructor<?> made = KafkaCommittable.class.getDeclaredConstructors()[0];
        made.setAccessible(true);
        KafkaCommittable committable =
                (KafkaCommittable) made.newInstance(7L, (short) 2, "prefix-0-1", null);
        print("committable", new KafkaCommittableSerializer(), committable);
        collector(committable);
    }

    private static KafkaWriterState writerState() throws Exception {
        Constructor<?> made = KafkaWriterState.class.getDeclaredConstructors()[0];
        made.setAccessible(true);
        if (made.getParameterCount() == 1) {
            return (KafkaWriterState) made.newInstance("prefix");
        }
        Class<?> ownership = made.getParameterTypes()[3];
        Class<?> transaction =
                Class.forName(
                        "org.apache.flink.connector.kafka.sink.internal.CheckpointTransaction");
        Object one =
                transaction
                        .getDeclaredConstructor(String.class, long.class)
                        .newInstance("prefix-0-5", 5L);
        return (KafkaWriterState)
                made.newInstance(
                        "prefix", 1, 4, ownership.getEnumConstants()[1], Collections.singletonList(one));
    }

    private static void collector(KafkaCommittable committable) throws Exception {
        String room = "org.apache.flink.streaming.runtime.operators.sink.committables.";
        Class<?> type = Class.forName(room + "CommittableCollector");
        for (Method method : type.getDeclaredMethods()) {
            if (method.getName().equals("ofLegacy")) {
                method.setAccessible(true);
                Object[] given = new Object[method.getParameterCount()];
                given[0] = List.of(committable);
                given[1] = noMetrics(method.getParameterTypes()[1]);
                Object found = method.invoke(null, given);
                Constructor<?> made =
                        Class.forName(room + "CommittableCollectorSerializer")
                                .getDeclaredConstructors()[0];
                made.setAccessible(true);
                Object[] arguments = new Object[made.getParameterCount()];
                arguments[0] = new KafkaCommittableSerializer();
                arguments[1] = 0;
                arguments[2] = 1;
                arguments[3] = noMetrics(made.getParameterTypes()[3]);
                printAny("collector", (SimpleVersionedSerializer<?>) made.newInstance(arguments), found);
            }
        }
    }

    private static Object noMetrics(Class<?> group) {
        return Proxy.newProxyInstance(
                group.getClassLoader(), new Class<?>[] {group}, (proxy, method, given) ->
                        method.getReturnType() == Counter.class ? new SimpleCounter() : null);
    }

    @SuppressWarnings("unchecked")
    private static void printAny(String name, SimpleVersionedSerializer<?> by, Object value)
            throws Exception {
        print(name, (SimpleVersionedSerializer<Object>) by, value);
    }

    private static <T> void print(String name, SimpleVersionedSerializer<T> by, T value)
            throws Exception {
        byte[] data = SimpleVersionedSerialization.writeVersionAndSerialize(by, value);
        System.out.println(name + " " + HexFormat.of().formatHex(data));
    }

    private KafkaVectors() {}
}
