package depot;

import java.math.BigDecimal;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Date;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.flink.api.java.tuple.Tuple2;

/**
 * A POJO with every kind of collection that 1.x leaves to Kryo.
 *
 * <p>2.x has serializers for those whose arguments are classes, and leaves the others to Kryo.
 */
@SuppressWarnings({"rawtypes", "unchecked"})
public class Stock {
    public List<Object> anything;
    public List<int[]> arrays;
    public Map<Grade, Double> byGrade;
    public Map<String, Item> byName;
    public Box box;
    public Box[] boxArray;
    public List<Box> boxes;
    public Collection<Item> collection;
    public Map<Item, Integer> counts;
    public List<Date> days;
    public Set<Item> distinct;
    public List<Grade> grades;
    public UUID id;
    public List<UUID> ids;
    public List<Item> items;
    public Iterable<String> iterable;
    public ArrayList<String> list;
    public List<String>[] lists;
    public List<BigDecimal> prices;
    public Item main;
    public Tuple2<String, List<Long>> pair;
    public List<Parcel> parcels;
    public List raw;
    public List<List<String>> rows;
    public Map<String, List<Long>> series;
    public Map<LocalDate, Long[]> spans;
    public String tail;
    public Set<Unit> units;
    public Map<String, Duration> waits;
    public List<? extends Item> wild;
    public List<String[]> words;

    public static Stock of(long number) {
        Stock stock = new Stock();
        int n = (int) number;
        Item item = Item.of(new Item(), number);
        BigItem big = Item.of(new BigItem(), number + 1);
        big.marks = new ArrayList<>(Arrays.asList("m" + n, null));
        RareItem rare = Item.of(new RareItem(), number + 2);
        rare.weight = number << 40;
        stock.anything = new ArrayList<>(List.of("text", n, 0.5, Arrays.asList(number)));
        stock.arrays = new ArrayList<>(List.of(new int[] {n, -n}, new int[0]));
        stock.byGrade = new HashMap<>(Map.of(Grade.HIGH, n / 8.0));
        stock.byName = new HashMap<>(Map.of("a", item, "b", big));
        stock.byName.put("none", null);
        stock.box = Box.of(number);
        stock.boxArray = new Box[] {Box.of(number + 1), null};
        stock.boxes = Arrays.asList(Box.of(number + 2), null, Box.of(number + 3));
        stock.collection = new HashSet<>(List.of(rare));
        stock.counts = new HashMap<>(Map.of(item, 7));
        stock.days = new ArrayList<>(List.of(new Date(number * 1000)));
        stock.distinct = new HashSet<>(List.of(item, big));
        stock.grades = n % 2 == 0 ? new ArrayList<>(List.of(Grade.LOW, Grade.HIGH)) : new ArrayList<>();
        stock.id = new UUID(number, ~number);
        stock.ids = new ArrayList<>(List.of(stock.id, new UUID(1, 2)));
        stock.items = n % 4 == 0 ? null : new ArrayList<>(Arrays.asList(item, big, null, rare, item));
        stock.iterable = new ArrayList<>(List.of("i" + n, "ä\u20ac"));
        stock.list = new ArrayList<>(List.of("l" + n));
        stock.lists = new List[] {new ArrayList<>(List.of("x" + n)), null};
        stock.prices = new ArrayList<>(List.of(BigDecimal.valueOf(n, 2)));
        stock.main = n % 3 == 0 ? big : n % 3 == 1 ? rare : item;
        stock.pair = Tuple2.of("p" + n, new ArrayList<>(List.of(number, -number)));
        stock.parcels = new ArrayList<>(List.of(new Parcel(number)));
        stock.raw = new ArrayList<>(List.of(n / 2.0, "raw"));
        stock.rows = new ArrayList<>(List.of(new ArrayList<>(List.of("r" + n, "s")), new ArrayList<>()));
        stock.series = new HashMap<>(Map.of("k", new ArrayList<>(List.of(number, number << 33))));
        stock.spans = new HashMap<>(Map.of(LocalDate.ofEpochDay(n), new Long[] {number, null}));
        stock.tail = "tail " + n;
        stock.units = new HashSet<>(List.of(Unit.DOZEN));
        stock.waits = new TreeMap<>(Map.of("w", Duration.ofMillis(number)));
        stock.wild = new ArrayList<>(List.of(item, rare));
        stock.words = new ArrayList<>(Arrays.asList(new String[] {"w" + n, null}, null));
        return stock;
    }
}
