package hidden;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A POJO with many fields that hide where they end. */
public class Odder {
    public Thing a;
    public int b;
    public Thing c;
    public String d;
    public Thing e;
    public long f;
    public List<Thing> list;
    public Map<String, Thing> map;
    public List<List<Thing>> rows;
    public String tail;

    static Odder of(long id) {
        Odder odder = new Odder();
        odder.a = new Thing(id);
        odder.b = (int) id;
        odder.c = new Thing(id + 1);
        odder.d = "d " + id;
        odder.e = id % 5 == 0 ? null : new Thing(id + 2);
        odder.f = id;
        odder.list = new ArrayList<>(List.of(new Thing(id), new Thing(id + 3)));
        odder.map = new HashMap<>(Map.of("k", new Thing(id)));
        odder.rows = new ArrayList<>(List.of(odder.list, new ArrayList<>()));
        odder.tail = "tail " + id;
        return odder;
    }
}
