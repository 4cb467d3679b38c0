package changed;

import java.util.Map;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;

/** What became of {@code shop.Customer}: another name, and other fields. */
public class Client {
    public String fullName;
    public Integer age;
    public Place address;
    public long purchases;
    public boolean adult;
    public double lastAmount;
    public boolean vip;

    public static TypeInformation<Client> typeInformation() {
        return Types.POJO(
                Client.class,
                Map.of(
                        "fullName", Types.STRING,
                        "age", Types.INT,
                        "address", Types.POJO(Place.class),
                        "purchases", Types.LONG,
                        "adult", Types.BOOLEAN,
                        "lastAmount", Types.DOUBLE,
                        "vip", Types.BOOLEAN));
    }
}
