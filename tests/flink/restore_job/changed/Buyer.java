package changed;

import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;

/** {@code shop.Customer} under another name, with a field of another name at the same place. */
public class Buyer {
    public String name;
    public Integer age;
    public Place address;
    public List<String> tags;
    public int purchases;
    public boolean adult;
    public double latestAmount;

    public static TypeInformation<Buyer> typeInformation() {
        return Types.POJO(
                Buyer.class,
                Map.of(
                        "name", Types.STRING,
                        "age", Types.INT,
                        "address", Types.POJO(Place.class),
                        "tags", Types.LIST(Types.STRING),
                        "purchases", Types.INT,
                        "adult", Types.BOOLEAN,
                        "latestAmount", Types.DOUBLE));
    }
}
