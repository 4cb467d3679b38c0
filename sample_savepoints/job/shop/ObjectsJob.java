package shop;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.TreeMap;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/** Operators whose state Flink writes with Kryo, or with POJOs of subclasses, beside plain state. */
final class ObjectsJob {
    private static final int KEYS = 40;

    /** 2100-01-01T00:00:00Z: no timer is ever due. */
    private static final long FAR_FUTURE = 4_102_444_800_000L;

    private ObjectsJob() {}

    static void define(StreamExecutionEnvironment env, String inbox) {
        DataStream<Transaction> transactions = Inputs.transactions(env, inbox);
        KeyedStream<Transaction, Long> keyed =
                transactions.keyBy(transaction -> transaction.id % KEYS, Types.LONG);
        List<Class<?>> types = List.of(Basket.class, Crate.class, Payment.class, Shape.class);
        for (Class<?> type : types) {
            String name = type.getSimpleName().toLowerCase();
            keyed.process(new Last(name, type))
                    .uid(name + "s")
                    .sinkTo(new DiscardingSink<>())
                    .uid(name + "_sink");
        }
    }

    /** Keeps an object of the last transaction of each key, and its number on both sides of it. */
    private static final class Last extends KeyedProcessFunction<Long, Transaction, Long> {
        private final String name;
        private final Class<?> type;
        private transient ValueState<Long> lastId;
        private transient ValueState<Object> object;
        private transient ValueState<String> memo;

        private Last(String name, Class<?> type) {
            this.name = name;
            this.type = type;
        }

        @Override
        @SuppressWarnings("unchecked")
        public void open(OpenContext context) {
            lastId = getRuntimeContext().getState(new ValueStateDescriptor<>("id", Types.LONG));
            TypeInformation<Object> information = (TypeInformation<Object>) TypeInformation.of(type);
            object = getRuntimeContext().getState(new ValueStateDescriptor<>(name, information));
            memo = getRuntimeContext().getState(new ValueStateDescriptor<>("memo", Types.STRING));
        }

        @Override
        public void processElement(Transaction transaction, Context context, Collector<Long> out)
                throws Exception {
            lastId.update(transaction.id);
            object.update(objectOf(transaction));
            memo.update("memo " + transaction.id);
            context.timerService().registerProcessingTimeTimer(FAR_FUTURE + transaction.id % KEYS);
        }

        private Object objectOf(Transaction transaction) {
            switch (name) {
                case "basket":
                    return basket(transaction);
                case "crate":
                    return crate(transaction);
                case "payment":
                    return payment(transaction);
                default:
                    return shape((int) transaction.id);
            }
        }
    }

    private static Basket basket(Transaction transaction) {
        Basket basket = new Basket();
        int id = (int) transaction.id;
        basket.codes = new ArrayList<>(Arrays.asList(id, -id));
        basket.counts = new HashMap<>();
        basket.counts.put("n", transaction.id);
        basket.amounts = new BigDecimal[] {BigDecimal.valueOf(id, 2)};
        basket.numbers = new int[] {id, 7};
        basket.other = id % 2 == 0 ? Instant.ofEpochSecond(id) : "text " + id;
        basket.ranks = new TreeMap<>();
        basket.ranks.put("first", new ArrayList<>(List.of("a", "b" + id)));
        basket.seen = id % 3 == 0 ? null : new HashSet<>(List.of("s" + id));
        basket.tags = id % 4 == 0 ? List.of("x", "y") : Arrays.asList("t" + id);
        basket.total = 1000 + id;
        basket.zone = "zone " + id;
        return basket;
    }

    private static Crate crate(Transaction transaction) {
        Crate crate = new Crate();
        crate.count = (int) transaction.id;
        crate.parcels = new ArrayList<>();
        // Every other crate is empty.
        for (int index = 0; index < transaction.id % 4; index += 2) {
            crate.parcels.add(new Parcel(transaction.id, "content " + index));
        }
        crate.weight = transaction.id % 3 == 0 ? null : transaction.id;
        crate.zone = "zone " + transaction.id;
        return crate;
    }

    private static Payment payment(Transaction transaction) {
        Payment payment = new Payment();
        if (transaction.id % 3 == 0) {
            CardPayment card = new CardPayment();
            card.card = "card " + transaction.id;
            card.month = 12;
            payment = card;
        }
        payment.cents = transaction.id;
        payment.payer = "payer " + transaction.id;
        return payment;
    }

    private static Shape shape(int id) {
        return id % 2 == 0 ? new Shape.Circle(id) : new Shape.Square(id, "colour " + id);
    }
}
