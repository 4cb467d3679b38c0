package org.apache.flink.streaming.connectors.kafka;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.DefaultOperatorStateBackend;
import org.apache.flink.runtime.state.DefaultOperatorStateBackendBuilder;
import org.apache.flink.runtime.state.OperatorStateHandle;
import org.apache.flink.runtime.state.StateInitializationContextImpl;
import org.apache.flink.runtime.state.memory.MemCheckpointStreamFactory;
import org.apache.flink.streaming.connectors.kafka.internals.KafkaTopicPartition;
import org.apache.flink.streaming.connectors.kafka.internals.KafkaTopicPartitionStateSentinel;

/**
 * The state of a {@code FlinkKafkaConsumer}: {@code write FILE} makes a {@code _metadata} of what it
 * snapshots, {@code read FILE} prints what it restores, a partition per line.
 */
public final class ConsumerState {
    private static final OperatorID OPERATOR =
            new OperatorID(0x0123456789abcdefL, 0x0123456789abcdefL);

    public static void main(String[] arguments) throws Exception {
        Path file = Path.of(arguments[1]);
        if (arguments[0].equals("write")) {
            Files.write(file, written());
        } else {
            read(file);
        }
    }

    private static byte[] written() throws Exception {
        DefaultOperatorStateBackend backend = backend(List.of());
        FlinkKafkaConsumer<String> consumer = consumer(backend, null);
        Map<KafkaTopicPartition, Long> offsets = new LinkedHashMap<>();
        offsets.put(new KafkaTopicPartition("orders", 0), 41L);
        offsets.put(
                new KafkaTopicPartition("orders", 1),
                KafkaTopicPartitionStateSentinel.EARLIEST_OFFSET);
        offsets.put(
                new KafkaTopicPartition("payments", 0),
                KafkaTopicPartitionStateSentinel.GROUP_OFFSET);
        Field subscribed =
                FlinkKafkaConsumerBase.class.getDeclaredField("subscribedPartitionsToStartOffsets");
        subscribed.setAccessible(true);
        subscribed.set(consumer, offsets);
        consumer.snapshotState(null);
        var snapshot =
                backend.snapshot(
                        1,
                        0,
                        new MemCheckpointStreamFactory(1 << 20),
                        CheckpointOptions.forCheckpointWithDefaultLocation());
        snapshot.run();
        OperatorSubtaskState subtask =
                OperatorSubtaskState.builder()
                        .setManagedOperatorState(snapshot.get().getJobManagerOwnedSnapshot())
                        .build();
        OperatorState operator = new OperatorState(OPERATOR, 1, 128);
        operator.putState(0, subtask);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        CheckpointMetadata metadata = new CheckpointMetadata(1, List.of(operator), List.of());
        Checkpoints.storeCheckpointMetadata(metadata, new DataOutputStream(bytes));
        return bytes.toByteArray();
    }

    private static void read(Path file) throws Exception {
        CheckpointMetadata metadata;
        try (DataInputStream input = new DataInputStream(Files.newInputStream(file))) {
            ClassLoader loader = ConsumerState.class.getClassLoader();
            metadata = Checkpoints.loadCheckpointMetadata(input, loader, file.getParent().toString());
        }
        OperatorState operator = metadata.getOperatorStates().iterator().next();
        Collection<OperatorStateHandle> handles = operator.getState(0).getManagedOperatorState();
        FlinkKafkaConsumer<String> consumer = consumer(backend(handles), metadata.getCheckpointId());
        consumer.getRestoredState()
                .forEach(
                        (place, offset) ->
                                System.out.println(
                                        place.getTopic() + " " + place.getPartition() + " " + offset));
    }

    private static DefaultOperatorStateBackend backend(Collection<OperatorStateHandle> handles)
            throws Exception {
        return new DefaultOperatorStateBackendBuilder(
                        ConsumerState.class.getClassLoader(),
                        new ExecutionConfig(),
                        false,
                        handles,
                        new CloseableRegistry())
                .build();
    }

    private static FlinkKafkaConsumer<String> consumer(
            DefaultOperatorStateBackend backend, Long restored) throws Exception {
        FlinkKafkaConsumer<String> consumer =
                new FlinkKafkaConsumer<>(
                        List.of("orders", "payments"), new SimpleStringSchema(), new Properties());
        consumer.setRuntimeContext(
                (RuntimeContext)
                        Proxy.newProxyInstance(
                                ConsumerState.class.getClassLoader(),
                                new Class<?>[] {RuntimeContext.class},
                                (proxy, method, given) -> fact(method.getReturnType())));
        consumer.initializeState(
                new StateInitializationContextImpl(restored, backend, null, null, null));
        return consumer;
    }

    /** Of what a job is, the consumer asks for numbers and for how its types are written. */
    private static Object fact(Class<?> type) {
        if (type == ExecutionConfig.class) {
            return new ExecutionConfig();
        }
        return type == int.class ? 0 : null;
    }

    private ConsumerState() {}
}
