package shop;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * A POJO whose collections are left to Flink: 1.x hands them to Kryo, 2.x the classes among them.
 *
 * <p>Flink writes fields by name: {@code zone} and {@code total} come behind all collections.
 */
public class Basket {
    public ArrayList<Integer> codes;
    public Map<String, Long> counts;
    public BigDecimal[] amounts;
    public int[] numbers;
    public Object other;
    public TreeMap<String, List<String>> ranks;
    public Set<String> seen;
    public List<String> tags;
    public long total;
    public String zone;
}
