package moved;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;

/** A row of the input: an account, a number, a time in ms, an id, and the name of a request. */
public final class Row {
    public String key;
    public long value;
    public long time;
    public int id;
    public String request;

    static final TypeInformation<Row> TYPE = Types.POJO(Row.class);

    /** The row of a line: {@code key TAB value TAB time in ms TAB id TAB request}. */
    static Row of(String line) {
        String[] cells = line.split("\t");
        Row row = new Row();
        row.key = cells[0];
        row.value = Long.parseLong(cells[1]);
        row.time = Long.parseLong(cells[2]);
        row.id = Integer.parseInt(cells[3]);
        row.request = cells[4];
        return row;
    }
}
