package named;

/** A POJO whose fields stand in another order than Flink stores them. */
public class Point {
    public int zeta;
    public int alpha;
    public int mid;
}
