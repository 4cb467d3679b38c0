package org.apache.flink.streaming.connectors.kinesis;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
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
import org.apache.flink.runtime.state.StateInitializationContextImpl;
import org.apache.flink.runtime.state.memory.MemCheckpointStreamFactory;
import org.apache.flink.streaming.connectors.kinesis.model.SentinelSequenceNumber;
import org.apache.flink.streaming.connectors.kinesis.model.SequenceNumber;
import org.apache.flink.streaming.connectors.kinesis.model.StreamShardMetadata;

/** Writes into a file the {@code _metadata} of what a {@code FlinkKinesisConsumer} snapshots. */
public final class ConsumerState {
    private static final OperatorID OPERATOR =
            new OperatorID(0x0123456789abcdefL, 0x0123456789abcdefL);

    public static void main(String[] arguments) throws Exception {
        Map<StreamShardMetadata.EquivalenceWrapper, SequenceNumber> positions = new HashMap<>();
        add(positions, 0, new SequenceNumber("49590338271490256608559692538361571095921575989136588898"));
        add(positions, 1, new SequenceNumber("49590338271490256608559692540925702759324208523137515618", 7));
        for (SentinelSequenceNumber sentinel : SentinelSequenceNumber.values()) {
            add(positions, 2 + sentinel.ordinal(), sentinel.get());
        }
        Files.write(Path.of(arguments[0]), written(positions));
    }

    private static void add(
            Map<StreamShardMetadata.EquivalenceWrapper, SequenceNumber> positions,
            int number,
            SequenceNumber position) {
        StreamShardMetadata shard = new StreamShardMetadata();
        shard.setStreamName("orders");
        shard.setShardId("shardId-00000000000" + number);
        if (number == 1) {
            shard.setParentShardId("shardId-000000000000");
        }
        shard.setStartingHashKey("0");
        positions.put(new StreamShardMetadata.EquivalenceWrapper(shard), position);
    }

    private static byte[] written(Map<?, ?> positions) throws Exception {
        DefaultOperatorStateBackend backend =
                new DefaultOperatorStateBackendBuilder(
                                ConsumerState.class.getClassLoader(),
                                new ExecutionConfig(),
                                false,
                                List.of(),
                                new CloseableRegistry())
                        .build();
        Properties region = new Properties();
        region.setProperty("aws.region", "eu-central-1");
        FlinkKinesisConsumer<String> consumer =
                new FlinkKinesisConsumer<>("orders", new SimpleStringSchema(), region);
        consumer.setRuntimeContext(
                (RuntimeContext)
                        Proxy.newProxyInstance(
                                ConsumerState.class.getClassLoader(),
                                new Class<?>[] {RuntimeContext.class},
                                (proxy, method, values) -> fact(method)));
        consumer.initializeState(new StateInitializationContextImpl(null, backend, null, null, null));
        Field restored = FlinkKinesisConsumer.class.getDeclaredField("sequenceNumsToRestore");
        restored.setAccessible(true);
        restored.set(consumer, positions);
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

    /** The consumer asks a job for its size, and for how its types are written. */
    private static Object fact(Method method) {
        if (method.getReturnType() == ExecutionConfig.class) {
            return new ExecutionConfig();
        }
        return method.getName().equals("getNumberOfParallelSubtasks") ? 1 : 0;
    }

    private ConsumerState() {}
}
