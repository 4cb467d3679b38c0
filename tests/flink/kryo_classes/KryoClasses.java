import java.io.ByteArrayOutputStream;
import java.io.File;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.math.RoundingMode;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.StandardOpenOption;
import java.text.SimpleDateFormat;
import java.time.*;
import java.time.chrono.IsoEra;
import java.time.chrono.JapaneseDate;
import java.time.temporal.ChronoField;
import java.time.temporal.ChronoUnit;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.typeutils.runtime.kryo.KryoSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.types.*;

/**
 * Writes objects with Flink's Kryo, and reads them back.
 *
 * <p>A line each: name, class, bytes, what became of it (same, other, fails, unwritten), and the text of the object,
 * with tabs between them. The object is {@code other} if it is not equal to what was written, or can't be used.
 */
public final class KryoClasses {
    public enum Colour { RED, GREEN { @Override public String toString() { return "green"; } } }

    public static final class Held {
        public Object first;
        public Object second;

        static Held of(Object first, Object second) {
            Held held = new Held();
            held.first = first;
            held.second = second;
            return held;
        }

        @Override public boolean equals(Object other) {
            return other instanceof Held && Objects.equals(first, ((Held) other).first) && Objects.equals(second, ((Held) other).second);
        }

        @Override public int hashCode() { return 0; }
        @Override public String toString() { return first + "|" + second; }
    }

    interface Made { Object make() throws Exception; }

    static final Map<String, Made> OBJECTS = new LinkedHashMap<>();

    static void add(String name, Made made) { OBJECTS.put(name, made); }

    static <T> T with(T made, java.util.function.Consumer<T> fill) { fill.accept(made); return made; }

    static Map<String, Integer> map() { return with(new TreeMap<String, Integer>(), map -> { map.put("a", 1); map.put("b", 2); }); }

    static List<String> list() { return new ArrayList<>(Arrays.asList("a", "b", "c")); }

    static void collections() {
        add("List.of 0", List::of);
        add("List.of 1", () -> List.of("a"));
        add("List.of 3", () -> List.of("a", "b", "c"));
        add("List.copyOf", () -> List.copyOf(list()));
        add("List.of subList", () -> List.of("a", "b", "c").subList(0, 2));
        add("Stream.toList", () -> Stream.of("a", null, "b").toList());
        add("toUnmodifiableList", () -> Stream.of("a", "b").collect(Collectors.toUnmodifiableList()));
        add("Set.of 0", Set::of);
        add("Set.of 1", () -> Set.of("a"));
        add("Set.of 3", () -> Set.of("a", "b", "c"));
        add("Map.of 0", Map::of);
        add("Map.of 1", () -> Map.of("a", 1));
        add("Map.of 3", () -> Map.of("a", 1, "b", 2, "c", 3));
        add("Map.entry", () -> Map.entry("a", 1));
        add("unmodifiableCollection", () -> Collections.unmodifiableCollection(list()));
        add("unmodifiableList", () -> Collections.unmodifiableList(list()));
        add("unmodifiableList 0", () -> Collections.unmodifiableList(new ArrayList<>()));
        add("unmodifiableList linked", () -> Collections.unmodifiableList(new LinkedList<>(list())));
        add("unmodifiableSet", () -> Collections.unmodifiableSet(new HashSet<>(list())));
        add("unmodifiableSortedSet", () -> Collections.unmodifiableSortedSet(new TreeSet<>(list())));
        add("unmodifiableNavigableSet", () -> Collections.unmodifiableNavigableSet(new TreeSet<>(list())));
        add("unmodifiableMap", () -> Collections.unmodifiableMap(map()));
        add("unmodifiableMap 0", () -> Collections.unmodifiableMap(new HashMap<>()));
        add("unmodifiableMap entrySet", () -> Collections.unmodifiableMap(map()).entrySet());
        add("unmodifiableMap entry", () -> Collections.unmodifiableMap(map()).entrySet().iterator().next());
        add("unmodifiableSortedMap", () -> Collections.unmodifiableSortedMap(new TreeMap<>(map())));
        add("unmodifiableNavigableMap", () -> Collections.unmodifiableNavigableMap(new TreeMap<>(map())));
        add("emptySortedMap", Collections::emptySortedMap);
        add("emptySortedSet", Collections::emptySortedSet);
        add("synchronizedCollection", () -> Collections.synchronizedCollection(list()));
        add("synchronizedList", () -> Collections.synchronizedList(list()));
        add("synchronizedList linked", () -> Collections.synchronizedList(new LinkedList<>(list())));
        add("synchronizedSet", () -> Collections.synchronizedSet(new HashSet<>(list())));
        add("synchronizedSortedSet", () -> Collections.synchronizedSortedSet(new TreeSet<>(list())));
        add("synchronizedNavigableSet", () -> Collections.synchronizedNavigableSet(new TreeSet<>(list())));
        add("synchronizedMap", () -> Collections.synchronizedMap(map()));
        add("synchronizedSortedMap", () -> Collections.synchronizedSortedMap(new TreeMap<>(map())));
        add("synchronizedNavigableMap", () -> Collections.synchronizedNavigableMap(new TreeMap<>(map())));
        add("checkedCollection", () -> Collections.checkedCollection(list(), String.class));
        add("checkedList", () -> Collections.checkedList(list(), String.class));
        add("checkedList linked", () -> Collections.checkedList(new LinkedList<>(list()), String.class));
        add("checkedQueue", () -> Collections.checkedQueue(new LinkedList<>(list()), String.class));
        add("checkedSet", () -> Collections.checkedSet(new HashSet<>(list()), String.class));
        add("checkedSortedSet", () -> Collections.checkedSortedSet(new TreeSet<>(list()), String.class));
        add("checkedNavigableSet", () -> Collections.checkedNavigableSet(new TreeSet<>(list()), String.class));
        add("checkedMap", () -> Collections.checkedMap(map(), String.class, Integer.class));
        add("checkedSortedMap", () -> Collections.checkedSortedMap(new TreeMap<>(map()), String.class, Integer.class));
        add("checkedNavigableMap", () -> Collections.checkedNavigableMap(new TreeMap<>(map()), String.class, Integer.class));
        add("newSetFromMap", () -> with(Collections.newSetFromMap(new HashMap<String, Boolean>()), set -> set.add("a")));
        add("asLifoQueue", () -> Collections.asLifoQueue(new ArrayDeque<>(list())));
        add("nCopies", () -> Collections.nCopies(3, "a"));
        add("nCopies 0", () -> Collections.nCopies(0, "a"));
        add("emptyList", Collections::emptyList);
        add("singletonList", () -> Collections.singletonList("a"));
        add("singleton", () -> Collections.singleton("a"));
        add("singletonMap", () -> Collections.singletonMap("a", 1));
        add("singletonMap keySet", () -> Collections.singletonMap("a", 1).keySet());
        add("Arrays.asList", () -> Arrays.asList("a", null, "b"));
        add("Arrays.asList 0", () -> Arrays.asList());
        add("Arrays.asList subList", () -> Arrays.asList("a", "b", "c").subList(1, 3));
        add("ArrayList", KryoClasses::list);
        add("ArrayList subList", () -> list().subList(0, 2));
        add("LinkedList", () -> new LinkedList<>(list()));
        add("LinkedList subList", () -> new LinkedList<>(list()).subList(0, 2));
        add("Vector", () -> new Vector<>(list()));
        add("Vector subList", () -> new Vector<>(list()).subList(0, 2));
        add("Stack", () -> with(new Stack<String>(), stack -> stack.push("a")));
        add("CopyOnWriteArrayList", () -> new CopyOnWriteArrayList<>(list()));
        add("CopyOnWriteArrayList subList", () -> new CopyOnWriteArrayList<>(list()).subList(0, 2));
        add("CopyOnWriteArraySet", () -> new CopyOnWriteArraySet<>(list()));
        add("HashSet", () -> new HashSet<>(list()));
        add("LinkedHashSet", () -> new LinkedHashSet<>(list()));
        add("TreeSet", () -> new TreeSet<>(list()));
        add("TreeSet reversed", () -> with(new TreeSet<String>(Comparator.reverseOrder()), set -> set.addAll(list())));
        add("TreeSet natural", () -> with(new TreeSet<String>(Comparator.naturalOrder()), set -> set.addAll(list())));
        add("TreeSet caseless", () -> with(new TreeSet<>(String.CASE_INSENSITIVE_ORDER), set -> set.addAll(list())));
        add("TreeSet lambda", () -> with(new TreeSet<String>((left, right) -> right.compareTo(left)), set -> set.addAll(list())));
        add("TreeSet comparing", () -> with(new TreeSet<String>(Comparator.comparing(String::length)), set -> set.add("a")));
        add("TreeSet nullsFirst", () -> with(new TreeSet<String>(Comparator.nullsFirst(Comparator.naturalOrder())), set -> set.add("a")));
        add("TreeSet anonymous", () -> with(new TreeSet<String>(new Comparator<String>() {
            @Override public int compare(String left, String right) { return right.compareTo(left); }
        }), set -> set.addAll(list())));
        add("TreeSet headSet", () -> new TreeSet<>(list()).headSet("c"));
        add("TreeSet descendingSet", () -> new TreeSet<>(list()).descendingSet());
        add("ConcurrentSkipListSet", () -> new ConcurrentSkipListSet<>(list()));
        add("newKeySet", () -> with(ConcurrentHashMap.newKeySet(), set -> set.add("a")));
        add("ArrayDeque", () -> new ArrayDeque<>(list()));
        add("PriorityQueue", () -> new PriorityQueue<>(list()));
        add("PriorityQueue reversed", () -> with(new PriorityQueue<String>(Comparator.reverseOrder()), set -> set.addAll(list())));
        add("PriorityBlockingQueue", () -> new PriorityBlockingQueue<>(list()));
        add("ConcurrentLinkedQueue", () -> new ConcurrentLinkedQueue<>(list()));
        add("ConcurrentLinkedDeque", () -> new ConcurrentLinkedDeque<>(list()));
        add("LinkedBlockingQueue", () -> new LinkedBlockingQueue<>(list()));
        add("LinkedBlockingDeque", () -> new LinkedBlockingDeque<>(list()));
        add("LinkedTransferQueue", () -> new LinkedTransferQueue<>(list()));
        add("ArrayBlockingQueue", () -> with(new ArrayBlockingQueue<String>(5), queue -> queue.add("a")));
        add("HashMap", () -> new HashMap<>(map()));
        add("HashMap keySet", () -> new HashMap<>(map()).keySet());
        add("HashMap values", () -> new HashMap<>(map()).values());
        add("HashMap entrySet", () -> new HashMap<>(map()).entrySet());
        add("HashMap entry", () -> new HashMap<>(map()).entrySet().iterator().next());
        add("LinkedHashMap", () -> new LinkedHashMap<>(map()));
        add("LinkedHashMap keySet", () -> new LinkedHashMap<>(map()).keySet());
        add("LinkedHashMap values", () -> new LinkedHashMap<>(map()).values());
        add("LinkedHashMap entrySet", () -> new LinkedHashMap<>(map()).entrySet());
        add("TreeMap", KryoClasses::map);
        add("TreeMap keySet", () -> map().keySet());
        add("TreeMap values", () -> map().values());
        add("TreeMap entrySet", () -> map().entrySet());
        add("TreeMap entry", () -> map().entrySet().iterator().next());
        add("TreeMap firstEntry", () -> new TreeMap<>(map()).firstEntry());
        add("TreeMap headMap", () -> new TreeMap<>(map()).headMap("b"));
        add("TreeMap subMap", () -> new TreeMap<>(map()).subMap("a", "b"));
        add("TreeMap descendingMap", () -> new TreeMap<>(map()).descendingMap());
        add("TreeMap reversed", () -> with(new TreeMap<String, Integer>(Collections.reverseOrder()), map -> map.putAll(map())));
        add("TreeMap lambda", () -> with(new TreeMap<String, Integer>((left, right) -> right.compareTo(left)), map -> map.putAll(map())));
        add("ConcurrentHashMap", () -> new ConcurrentHashMap<>(map()));
        add("ConcurrentHashMap keySet", () -> new ConcurrentHashMap<>(map()).keySet());
        add("ConcurrentHashMap values", () -> new ConcurrentHashMap<>(map()).values());
        add("ConcurrentHashMap entrySet", () -> new ConcurrentHashMap<>(map()).entrySet());
        add("ConcurrentSkipListMap", () -> new ConcurrentSkipListMap<>(map()));
        add("ConcurrentSkipListMap keySet", () -> new ConcurrentSkipListMap<>(map()).keySet());
        add("ConcurrentSkipListMap values", () -> new ConcurrentSkipListMap<>(map()).values());
        add("IdentityHashMap", () -> with(new IdentityHashMap<String, Integer>(), map -> map.put("a", 1)));
        add("IdentityHashMap keySet", () -> with(new IdentityHashMap<String, Integer>(), map -> map.put("a", 1)).keySet());
        add("WeakHashMap", () -> new WeakHashMap<>(map()));
        add("Hashtable", () -> new Hashtable<>(map()));
        add("Hashtable keySet", () -> new Hashtable<>(map()).keySet());
        add("Properties", () -> with(new Properties(), properties -> properties.setProperty("a", "b")));
        add("EnumMap", () -> new EnumMap<>(Map.of(DayOfWeek.MONDAY, 1)));
        add("EnumMap 0", () -> new EnumMap<>(DayOfWeek.class));
        add("EnumMap keySet", () -> new EnumMap<>(Map.of(DayOfWeek.MONDAY, 1)).keySet());
        add("EnumSet", () -> EnumSet.of(DayOfWeek.MONDAY, DayOfWeek.SUNDAY));
        add("EnumSet 0", () -> EnumSet.noneOf(DayOfWeek.class));
        add("EnumSet own", () -> EnumSet.of(Colour.GREEN));
        add("EnumSet jumbo", () -> EnumSet.of(Character.UnicodeScript.LATIN));
        add("unmodifiable EnumSet", () -> Collections.unmodifiableSet(EnumSet.of(DayOfWeek.MONDAY)));
        add("BitSet", () -> BitSet.valueOf(new long[] {5}));
        add("SimpleEntry", () -> new AbstractMap.SimpleEntry<>("a", 1));
        add("SimpleImmutableEntry", () -> new AbstractMap.SimpleImmutableEntry<>("a", 1));
    }

    static void others() throws Exception {
        add("DayOfWeek", () -> DayOfWeek.TUESDAY);
        add("Month", () -> Month.MARCH);
        add("ChronoUnit", () -> ChronoUnit.DAYS);
        add("ChronoField", () -> ChronoField.DAY_OF_WEEK);
        add("IsoEra", () -> IsoEra.CE);
        add("TimeUnit", () -> TimeUnit.DAYS);
        add("RoundingMode", () -> RoundingMode.HALF_UP);
        add("Thread.State", () -> Thread.State.NEW);
        add("StandardOpenOption", () -> StandardOpenOption.READ);
        add("own enum", () -> Colour.RED);
        add("own enum with body", () -> Colour.GREEN);
        add("List of enums", () -> new ArrayList<>(List.of(DayOfWeek.MONDAY, Month.MAY, TimeUnit.DAYS, DayOfWeek.MONDAY)));
        add("naturalOrder", Comparator::naturalOrder);
        add("reverseOrder", Comparator::reverseOrder);
        add("reverseOrder of", () -> Collections.reverseOrder(String.CASE_INSENSITIVE_ORDER));
        add("lambda", () -> (Supplier<String> & java.io.Serializable) () -> "a");
        add("plain lambda", () -> (Supplier<String>) () -> "a");
        add("proxy", () -> Proxy.newProxyInstance(KryoClasses.class.getClassLoader(), new Class<?>[] {Runnable.class}, (InvocationHandler) (proxy, method, arguments) -> null));
        add("int.class", () -> int.class);
        add("boolean.class", () -> boolean.class);
        add("void.class", () -> void.class);
        add("Integer.class", () -> Integer.class);
        add("String.class", () -> String.class);
        add("int[].class", () -> int[].class);
        add("list of classes", () -> new ArrayList<>(List.of(int.class, long.class, String.class, int.class)));
        add("AtomicInteger", () -> new AtomicInteger(5));
        add("AtomicLong", () -> new AtomicLong(5));
        add("AtomicBoolean", () -> new AtomicBoolean(true));
        add("AtomicReference", () -> new AtomicReference<>("a"));
        add("AtomicIntegerArray", () -> new AtomicIntegerArray(new int[] {1, 2}));
        add("LongAdder", () -> with(new LongAdder(), adder -> adder.add(5)));
        add("StringJoiner", () -> with(new StringJoiner(","), joiner -> joiner.add("a")));
        add("Random", () -> new Random(5));
        add("MathContext", () -> MathContext.DECIMAL32);
        add("BigDecimal", () -> new BigDecimal("1.50"));
        add("BigInteger", () -> new BigInteger("-5"));
        add("IntSummaryStatistics", () -> IntStream.of(1, 2).summaryStatistics());
        add("LongSummaryStatistics", () -> with(new LongSummaryStatistics(), all -> all.accept(5L)));
        add("DoubleSummaryStatistics", () -> with(new DoubleSummaryStatistics(), all -> all.accept(5)));
        add("Optional", () -> Optional.of("a"));
        add("Optional empty", Optional::empty);
        add("OptionalInt", () -> OptionalInt.of(5));
        add("InetAddress", () -> InetAddress.getByAddress(new byte[] {127, 0, 0, 1}));
        add("InetSocketAddress", () -> new InetSocketAddress(InetAddress.getByAddress("a", new byte[] {127, 0, 0, 1}), 80));
        add("URI", () -> new URI("http://h/x"));
        add("URL", () -> new URL("http://h/x"));
        add("File", () -> new File("/a/b"));
        add("UnixPath", () -> new File("/a/b").toPath());
        add("Charset", () -> StandardCharsets.UTF_8);
        add("Pattern", () -> Pattern.compile("a+"));
        add("Locale", () -> new Locale("de", "AT"));
        add("UUID", () -> new UUID(1, 2));
        add("SimpleDateFormat", () -> new SimpleDateFormat("yyyy", Locale.ROOT));
        add("Exception", () -> new IllegalStateException("boom"));
        add("Clock", Clock::systemUTC);
        add("JapaneseDate", () -> JapaneseDate.of(2020, 1, 1));
        add("Duration", () -> Duration.ofMillis(1500));
        add("ByteArrayOutputStream", () -> with(new ByteArrayOutputStream(), out -> out.write(1)));
        add("Row", () -> Row.of("r", 6));
        add("Row of kind", () -> Row.ofKind(RowKind.DELETE, "r", null, List.of()));
        add("Row nested", () -> Row.of(Row.of(1L), new int[] {1}));
        add("Row with names", () -> with(Row.withNames(), row -> { row.setField("x", 1); row.setField("a", "b"); }));
        add("Row joined", () -> Row.join(Row.of(1), Row.of("a")));
        add("RowKind", () -> RowKind.UPDATE_AFTER);
        add("Tuple2", () -> Tuple2.of("t", 5));
        add("Either left", () -> Either.Left("l"));
        add("Either right", () -> Either.Right(5));
        add("BooleanValue", () -> new BooleanValue(true));
        add("ByteValue", () -> new ByteValue((byte) 5));
        add("ShortValue", () -> new ShortValue((short) 5));
        add("CharValue", () -> new CharValue('ß'));
        add("IntValue", () -> new IntValue(5));
        add("LongValue", () -> new LongValue(77));
        add("FloatValue", () -> new FloatValue(1.5f));
        add("DoubleValue", () -> new DoubleValue(2.5));
        add("StringValue", () -> new StringValue("text"));
        add("StringValue shortened", () -> with(new StringValue("a longer text"), text -> text.setValue("ab")));
        add("NullValue", NullValue::getInstance);
        add("held", () -> Held.of(DayOfWeek.FRIDAY, new LongValue(5)));
        add("held rows", () -> { Row row = Row.of(1); return Held.of(row, row); });
        add("held unmodifiable", () -> Held.of("a", Collections.unmodifiableList(list())));
    }

    static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte one : bytes) {
            text.append(String.format("%02x", one));
        }
        return text.toString();
    }

    static byte[] written(Object value) throws Exception {
        DataOutputSerializer output = new DataOutputSerializer(64);
        new KryoSerializer<>(Object.class, new SerializerConfigImpl()).serialize(value, output);
        return output.getCopyOfBuffer();
    }

    static boolean isSame(Object value, Object read, byte[] bytes) throws Exception {
        byte[] again = written(read);
        return value.equals(read) || value.toString().equals(read.toString()) || Arrays.equals(bytes, again)
                && value.getClass() == read.getClass();
    }

    static void print(String name, Object value) {
        byte[] bytes = null;
        String became;
        String text = "";
        try {
            text = String.valueOf(value);
            bytes = written(value);
            Object read = new KryoSerializer<>(Object.class, new SerializerConfigImpl()).deserialize(new DataInputDeserializer(bytes));
            became = "other";
            became = isSame(value, read, bytes) ? "same" : "other";
        } catch (Throwable error) {
            became = bytes == null ? "unwritten" : "fails";
            text = error.toString();
        }
        String line = String.join("\t", name, value.getClass().getName(), bytes == null ? "" : hex(bytes), became, text);
        System.out.println(line.replace("\n", " "));
    }

    public static void main(String[] arguments) throws Exception {
        collections();
        others();
        printAll();
    }

    static void printAll() throws Exception {
        for (Map.Entry<String, Made> entry : OBJECTS.entrySet()) {
            print(entry.getKey(), entry.getValue().make());
        }
    }
}
