package shop;

import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.state.AggregatingState;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.typeutils.runtime.NullableSerializer;
import org.apache.flink.streaming.api.TimerService;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/**
 * All kinds of keyed state of one key, and timers in both domains.
 *
 * <p>A purchase fills every state, a refund or a transfer only some of them, a close clears them
 * all but leaves the timers: so there are keys with a part of the states, and keys with timers only.
 */
final class StatefulFunction extends KeyedProcessFunction<String, Transaction, Long> {
    private static final long HOUR = Duration.ofHours(1).toMillis();
    private static final long REMIND_AFTER = Duration.ofHours(6).toMillis();

    /** 2100-01-01T00:00:00Z: the clock of whoever writes the sample is never there yet. */
    private static final long FAR_FUTURE = 4_102_444_800_000L;

    /** A century: no reader of the sample will see a value expire. */
    private static final StateTtlConfig LONG_TTL =
            StateTtlConfig.newBuilder(Duration.ofDays(36_500)).build();

    /**
     * For a map with null values: the heap backend serializes them for a canonical savepoint,
     * behind the null flag that it writes itself, and {@link LongSerializer} takes no null.
     */
    private static final TypeSerializer<Long> NULLABLE_LONG =
            NullableSerializer.wrap(LongSerializer.INSTANCE, false);

    private transient ValueState<Long> lastId;
    private transient ListState<String> memos;
    private transient MapState<String, Long> byCurrency;
    private transient MapState<String, Long> changes;
    private transient MapState<String, String> memoByCurrency;
    private transient ReducingState<Long> centsSum;
    private transient AggregatingState<Long, Double> average;
    private transient ValueState<Customer> customer;
    private transient ValueState<BigDecimal> balance;
    private transient ValueState<Instant> lastSeen;
    private transient ValueState<LocalDate> lastDay;
    private transient ValueState<TransactionKind> lastKind;
    private transient ValueState<Long> reminders;
    private transient ValueState<String> recentMemo;
    private transient ListState<String> recentMemos;
    private transient MapState<String, Long> recentByCurrency;

    @Override
    public void open(OpenContext context) {
        RuntimeContext runtime = getRuntimeContext();
        lastId = value("last_id", Types.LONG);
        memos = runtime.getListState(new ListStateDescriptor<>("memos", Types.STRING));
        byCurrency =
                runtime.getMapState(
                        new MapStateDescriptor<>("by_currency", Types.STRING, Types.LONG));
        changes =
                runtime.getMapState(
                        new MapStateDescriptor<>(
                                "changes", StringSerializer.INSTANCE, NULLABLE_LONG));
        memoByCurrency =
                runtime.getMapState(
                        new MapStateDescriptor<>(
                                "memo_by_currency", Types.STRING, Types.STRING));
        centsSum =
                runtime.getReducingState(
                        new ReducingStateDescriptor<>("cents_sum", Long::sum, Types.LONG));
        average =
                runtime.getAggregatingState(
                        new AggregatingStateDescriptor<>(
                                "average",
                                new Average(),
                                Types.TUPLE(Types.LONG, Types.LONG)));
        customer = value("customer", Customer.typeInformation());
        balance = value("balance", Types.BIG_DEC);
        lastSeen = value("last_seen", Types.INSTANT);
        lastDay = value("last_day", Types.LOCAL_DATE);
        lastKind = value("last_kind", Types.ENUM(TransactionKind.class));
        reminders = value("reminders", Types.LONG);
        recentMemo =
                runtime.getState(
                        expiring(new ValueStateDescriptor<>("recent_memo", Types.STRING)));
        recentMemos =
                runtime.getListState(
                        expiring(new ListStateDescriptor<>("recent_memos", Types.STRING)));
        recentByCurrency =
                runtime.getMapState(
                        expiring(
                                new MapStateDescriptor<>(
                                        "recent_by_currency", Types.STRING, Types.LONG)));
    }

    @Override
    public void processElement(Transaction transaction, Context context, Collector<Long> out)
            throws Exception {
        if (transaction.kind == TransactionKind.CLOSE) {
            clearAll();
            return;
        }
        lastId.update(transaction.id);
        lastKind.update(transaction.kind);
        switch (transaction.kind) {
            case PURCHASE:
                purchase(transaction);
                remember(transaction);
                registerTimers(transaction, context.timerService());
                break;
            case REFUND:
                addToBalance(transaction.decimalAmount().negate());
                break;
            case TRANSFER:
                changes.put(transaction.currency, null);
                break;
            default:
                throw new IllegalArgumentException(transaction.kind.name());
        }
    }

    @Override
    public void onTimer(long timestamp, OnTimerContext context, Collector<Long> out)
            throws Exception {
        Long current = reminders.value();
        reminders.update(current == null ? 1L : current + 1);
    }

    private void purchase(Transaction transaction) throws Exception {
        if (transaction.memo != null) {
            memos.add(transaction.memo);
        }
        Long current = byCurrency.get(transaction.currency);
        byCurrency.put(
                transaction.currency, (current == null ? 0 : current) + transaction.cents);
        changes.put(transaction.currency, transaction.cents);
        memoByCurrency.put(transaction.currency, transaction.memo);
        centsSum.add(transaction.cents);
        average.add(transaction.cents);
        customer.update(updated(customer.value(), transaction));
        addToBalance(transaction.decimalAmount());
        lastSeen.update(transaction.instant());
        lastDay.update(LocalDate.ofInstant(transaction.instant(), ZoneOffset.UTC));
    }

    private void remember(Transaction transaction) throws Exception {
        recentByCurrency.put(transaction.currency, transaction.cents);
        if (transaction.memo != null) {
            recentMemo.update(transaction.memo);
            recentMemos.add(transaction.memo);
        }
    }

    private void addToBalance(BigDecimal amount) throws Exception {
        BigDecimal current = balance.value();
        balance.update(current == null ? amount : current.add(amount));
    }

    private void clearAll() {
        State[] states = {
            lastId, memos, byCurrency, changes, memoByCurrency, centsSum, average, customer,
            balance, lastSeen, lastDay, lastKind, reminders, recentMemo, recentMemos,
            recentByCurrency
        };
        for (State state : states) {
            state.clear();
        }
    }

    /** Rounded to hours, so that several purchases ask for the same timer, which exists once. */
    private static void registerTimers(Transaction transaction, TimerService timers) {
        long hour = transaction.eventTime - Math.floorMod(transaction.eventTime, HOUR);
        timers.registerEventTimeTimer(hour + REMIND_AFTER);
        timers.registerProcessingTimeTimer(FAR_FUTURE + transaction.id % 3);
    }

    private static Customer updated(Customer current, Transaction transaction) {
        Customer customer = new Customer();
        customer.name = transaction.holder;
        customer.age = transaction.age;
        customer.address = address(transaction);
        customer.tags = transaction.tagList();
        customer.purchases = current == null ? 1 : current.purchases + 1;
        customer.adult = transaction.age != null && transaction.age >= 18;
        customer.lastAmount = transaction.amount;
        return customer;
    }

    private static Address address(Transaction transaction) {
        if (transaction.city == null) {
            return null;
        }
        Address address = new Address();
        address.city = transaction.city;
        address.zip = transaction.zip;
        return address;
    }

    private <T> ValueState<T> value(String name, TypeInformation<T> type) {
        return getRuntimeContext().getState(new ValueStateDescriptor<>(name, type));
    }

    private static <D extends StateDescriptor<?, ?>> D expiring(D descriptor) {
        descriptor.enableTimeToLive(LONG_TTL);
        return descriptor;
    }

    /** The accumulator is (sum, number). */
    private static final class Average
            implements AggregateFunction<Long, Tuple2<Long, Long>, Double> {
        @Override
        public Tuple2<Long, Long> createAccumulator() {
            return Tuple2.of(0L, 0L);
        }

        @Override
        public Tuple2<Long, Long> add(Long cents, Tuple2<Long, Long> accumulator) {
            return Tuple2.of(accumulator.f0 + cents, accumulator.f1 + 1);
        }

        @Override
        public Double getResult(Tuple2<Long, Long> accumulator) {
            return (double) accumulator.f0 / accumulator.f1;
        }

        @Override
        public Tuple2<Long, Long> merge(Tuple2<Long, Long> left, Tuple2<Long, Long> right) {
            return Tuple2.of(left.f0 + right.f0, left.f1 + right.f1);
        }
    }
}
