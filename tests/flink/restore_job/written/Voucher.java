package written;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/** What Kryo writes by its fields: classes of the JDK, collections, arrays and classes of a job. */
public final class Voucher {
    private long id;
    private UUID code;
    private BigDecimal price;
    private BigInteger number;
    private Date printed;
    private Timestamp sold;
    private Instant since;
    private LocalDate until;
    private Duration pause;
    private OffsetDateTime opens;
    private ZonedDateTime closes;
    private Kind kind;
    private Line first;
    private List<Line> lines;
    private List<String> tags;
    private Set<Long> shops;
    private Map<String, Integer> counts;
    private long[] numbers;
    private byte[] raw;
    private String[] words;
    private Integer none;
    private char letter;

    /** An enum whose constants are numbered. */
    public enum Kind {
        GIFT,
        PRIZE
    }

    /** A class within the other one, which may have subclasses. */
    public static class Line {
        private int count;
        private Double share;
        private String article;
    }
}
