package org.apache.flink.streaming.connectors.rabbitmq;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
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
import org.apache.flink.runtime.state.StateSnapshotContextSynchronousImpl;
import org.apache.flink.runtime.state.memory.MemCheckpointStreamFactory;
import org.apache.flink.streaming.api.functions.source.MessageAcknowledgingSourceBase;
import org.apache.flink.streaming.api.functions.source.MultipleIdsMessageAcknowledgingSourceBase;
import org.apache.flink.streaming.connectors.rabbitmq.common.RMQConnectionConfig;

/** Writes into a file the {@code _metadata} of what an {@code RMQSource} snapshots at checkpoints 4 and 5. */
public final class SourceState {
    private static final OperatorID OPERATOR =
            new OperatorID(0x0123456789abcdefL, 0x0123456789abcdefL);

    public static void main(String[] arguments) throws Exception {
        Files.write(Path.of(arguments[0]), written());
    }

    private static byte[] written() throws Exception {
        DefaultOperatorStateBackend backend =
                new DefaultOperatorStateBackendBuilder(
                                SourceState.class.getClassLoader(),
                                new ExecutionConfig(),
                                false,
                                List.of(),
                                new CloseableRegistry())
                        .build();
        RMQConnectionConfig place =
                new RMQConnectionConfig.Builder()
                        .setHost("localhost")
                        .setPort(5672)
                        .setVirtualHost("/")
                        .setUserName("guest")
                        .setPassword("guest")
                        .build();
        RMQSource<String> source = new RMQSource<>(place, "orders", true, new SimpleStringSchema());
        source.setRuntimeContext(
                (RuntimeContext)
                        Proxy.newProxyInstance(
                                SourceState.class.getClassLoader(),
                                new Class<?>[] {RuntimeContext.class},
                                (proxy, method, values) -> fact(method)));
        source.initializeState(new StateInitializationContextImpl(null, backend, null, null, null));
        openSession(source);
        add(source, "order-1", "order-2");
        source.snapshotState(new StateSnapshotContextSynchronousImpl(4, 0));
        add(source, "order-3");
        source.snapshotState(new StateSnapshotContextSynchronousImpl(5, 0));
        var snapshot =
                backend.snapshot(
                        5,
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
        CheckpointMetadata metadata = new CheckpointMetadata(5, List.of(operator), List.of());
        Checkpoints.storeCheckpointMetadata(metadata, new DataOutputStream(bytes));
        return bytes.toByteArray();
    }

    /** Messages that the source has sent on since the last checkpoint. */
    @SuppressWarnings("unchecked")
    private static void add(RMQSource<String> source, String... ids) throws Exception {
        Field current =
                MessageAcknowledgingSourceBase.class.getDeclaredField("idsForCurrentCheckpoint");
        current.setAccessible(true);
        ((Set<String>) current.get(source)).addAll(List.of(ids));
    }

    /** What {@code open} makes, which a broker is needed for. */
    private static void openSession(RMQSource<String> source) throws Exception {
        Class<?> parent = MultipleIdsMessageAcknowledgingSourceBase.class;
        set(source, parent.getDeclaredField("sessionIds"), new ArrayList<Long>());
        set(source, parent.getDeclaredField("sessionIdsPerSnapshot"), new ArrayDeque<>());
    }

    private static void set(Object target, Field field, Object value) throws Exception {
        field.setAccessible(true);
        field.set(target, value);
    }

    private static Object fact(Method method) {
        if (method.getReturnType() == ExecutionConfig.class) {
            return new ExecutionConfig();
        }
        return method.getName().equals("getNumberOfParallelSubtasks") ? 1 : 0;
    }

    private SourceState() {}
}
