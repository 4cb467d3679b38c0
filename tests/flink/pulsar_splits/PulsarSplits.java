package splits;

import java.util.Collections;
import java.util.HexFormat;
import java.util.List;

import org.apache.flink.connector.pulsar.source.enumerator.cursor.StopCursor;
import org.apache.flink.connector.pulsar.source.enumerator.topic.TopicPartition;
import org.apache.flink.connector.pulsar.source.enumerator.topic.TopicRange;
import org.apache.flink.connector.pulsar.source.split.PulsarPartitionSplit;
import org.apache.flink.connector.pulsar.source.split.PulsarPartitionSplitSerializer;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.transaction.TxnID;
import org.apache.pulsar.client.impl.MessageIdImpl;

/** Prints splits of Pulsar's connector: one that was not read, one with a message and a transaction. */
public final class PulsarSplits {
    public static void main(String[] arguments) throws Exception {
        List<TopicRange> ranges = Collections.singletonList(new TopicRange(0, 65535));
        TopicPartition partition = new TopicPartition("persistent://a/b/orders", 3, ranges);
        MessageId message = new MessageIdImpl(12, 34, 3);
        print(new PulsarPartitionSplit(partition, StopCursor.never()));
        print(new PulsarPartitionSplit(partition, StopCursor.never(), message, new TxnID(1, 2)));
        System.out.println(HexFormat.of().formatHex(message.toByteArray()));
    }

    private static void print(PulsarPartitionSplit split) throws Exception {
        PulsarPartitionSplitSerializer serializer = PulsarPartitionSplitSerializer.INSTANCE;
        byte[] data = serializer.serialize(split);
        System.out.println(serializer.getVersion() + " " + HexFormat.of().formatHex(data));
    }
}
