package offsets;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.KafkaSourceEnumState;
import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplit;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.kafka.common.TopicPartition;

/**
 * The source of Kafka's connector, with its serializers, as far as it needs no broker.
 *
 * <p>What a reader gets is noted and kept, but not fetched. The enumerator is another one, as that of
 * the connector asks a broker for partitions.
 */
final class KafkaSplits implements Source<String, KafkaPartitionSplit, KafkaSourceEnumState> {
    static final List<KafkaPartitionSplit> ALL =
            List.of(
                    new KafkaPartitionSplit(new TopicPartition("orders", 0), 42L),
                    new KafkaPartitionSplit(
                            new TopicPartition("orders", 1), KafkaPartitionSplit.EARLIEST_OFFSET),
                    new KafkaPartitionSplit(new TopicPartition("payments", 0), 7L, 70L));

    private final KafkaSource<String> kafka =
            KafkaSource.<String>builder()
                    .setBootstrapServers("localhost:1")
                    .setTopics("orders", "payments")
                    .setValueOnlyDeserializer(new SimpleStringSchema())
                    .build();

    @Override
    public Boundedness getBoundedness() {
        return kafka.getBoundedness();
    }

    @Override
    public SimpleVersionedSerializer<KafkaPartitionSplit> getSplitSerializer() {
        return kafka.getSplitSerializer();
    }

    @Override
    public SimpleVersionedSerializer<KafkaSourceEnumState> getEnumeratorCheckpointSerializer() {
        return kafka.getEnumeratorCheckpointSerializer();
    }

    @Override
    @SuppressWarnings("unchecked")
    public SourceReader<String, KafkaPartitionSplit> createReader(SourceReaderContext context)
            throws Exception {
        SourceReader<String, KafkaPartitionSplit> reader = kafka.createReader(context);
        List<KafkaPartitionSplit> kept = new ArrayList<>();
        return (SourceReader<String, KafkaPartitionSplit>)
                Proxy.newProxyInstance(
                        KafkaSplits.class.getClassLoader(),
                        new Class<?>[] {SourceReader.class},
                        (proxy, method, given) -> {
                            switch (method.getName()) {
                                case "addSplits":
                                    List<KafkaPartitionSplit> got =
                                            (List<KafkaPartitionSplit>) given[0];
                                    got.forEach(KafkaSplits::note);
                                    kept.addAll(got);
                                    return null;
                                case "snapshotState":
                                    return List.copyOf(kept);
                                default:
                                    return method.invoke(reader, given);
                            }
                        });
    }

    private static void note(KafkaPartitionSplit split) {
        KafkaJob.FACTS.add(
                String.format(
                        "split %s %d %d %s",
                        split.getTopic(),
                        split.getPartition(),
                        split.getStartingOffset(),
                        split.getStoppingOffset().map(String::valueOf).orElse("none")));
    }

    @Override
    public SplitEnumerator<KafkaPartitionSplit, KafkaSourceEnumState> createEnumerator(
            SplitEnumeratorContext<KafkaPartitionSplit> context) {
        return new Enumerator(
                context,
                new KafkaSourceEnumState(
                        ALL.stream()
                                .map(KafkaPartitionSplit::getTopicPartition)
                                .collect(Collectors.toSet()),
                        Set.of(new TopicPartition("payments", 9)),
                        true),
                true);
    }

    @Override
    public SplitEnumerator<KafkaPartitionSplit, KafkaSourceEnumState> restoreEnumerator(
            SplitEnumeratorContext<KafkaPartitionSplit> context, KafkaSourceEnumState state) {
        state.partitions()
                .forEach(
                        one ->
                                KafkaJob.FACTS.add(
                                        String.format(
                                                "partition %s %d %s",
                                                one.topicPartition().topic(),
                                                one.topicPartition().partition(),
                                                one.assignmentStatus().name().toLowerCase())));
        return new Enumerator(context, state, false);
    }

    /** Gives its splits to readers that have none yet; keeps its state. */
    private record Enumerator(
            SplitEnumeratorContext<KafkaPartitionSplit> context,
            KafkaSourceEnumState state,
            boolean isNew)
            implements SplitEnumerator<KafkaPartitionSplit, KafkaSourceEnumState> {
        @Override
        public void start() {}

        @Override
        public void handleSplitRequest(int subtask, String host) {}

        @Override
        public void addSplitsBack(List<KafkaPartitionSplit> splits, int subtask) {}

        @Override
        public void addReader(int subtask) {
            for (int index = subtask; isNew && index < ALL.size(); index += 2) {
                context.assignSplit(ALL.get(index), subtask);
            }
        }

        @Override
        public KafkaSourceEnumState snapshotState(long checkpoint) {
            return state;
        }

        @Override
        public void close() {}
    }
}
