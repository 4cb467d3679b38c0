package shop;

import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;

/** A POJO with a nested POJO, a list, a primitive, and fields that may be null. */
public class Customer {
    public String name;
    public Integer age;
    public Address address;
    public List<String> tags;
    public int purchases;
    public boolean adult;
    public double lastAmount;

    /** Spelled out: Flink 1.20 would hand a list it finds by reflection to Kryo. */
    public static TypeInformation<Customer> typeInformation() {
        return Types.POJO(
                Customer.class,
                Map.of(
                        "name", Types.STRING,
                        "age", Types.INT,
                        "address", Types.POJO(Address.class),
                        "tags", Types.LIST(Types.STRING),
                        "purchases", Types.INT,
                        "adult", Types.BOOLEAN,
                        "lastAmount", Types.DOUBLE));
    }
}
