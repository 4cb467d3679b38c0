package shop;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.List;

/** One row of {@code transactions-*.csv}; no field of it holds a comma, an empty field is null. */
public class Transaction {
    public long id;
    public int accountId;
    public String holder;
    public int currencyId;
    public String currency;
    public double amount;
    public long cents;
    public TransactionKind kind;
    public String memo;
    public Integer age;
    public String city;
    public Integer zip;
    public String tags;
    public long eventTime;

    public static Transaction parse(String line) {
        String[] fields = line.split(",", -1);
        Transaction transaction = new Transaction();
        transaction.id = Long.parseLong(fields[0]);
        transaction.accountId = Integer.parseInt(fields[1]);
        // The one text that is never null: "" is a key like any other.
        transaction.holder = fields[2];
        transaction.currencyId = Integer.parseInt(fields[3]);
        transaction.currency = fields[4];
        transaction.amount = Double.parseDouble(fields[5]);
        transaction.cents = new BigDecimal(fields[5]).movePointRight(2).longValueExact();
        transaction.kind = TransactionKind.valueOf(fields[6]);
        transaction.memo = text(fields[7]);
        transaction.age = integer(fields[8]);
        transaction.city = text(fields[9]);
        transaction.zip = integer(fields[10]);
        transaction.tags = fields[11];
        transaction.eventTime = Long.parseLong(fields[12]);
        return transaction;
    }

    public BigDecimal decimalAmount() {
        return BigDecimal.valueOf(cents, 2);
    }

    /** The event time, made finer by the id: so the nanoseconds of an Instant are not all zero. */
    public Instant instant() {
        return Instant.ofEpochMilli(eventTime).plusNanos(1000 * (id % 1000));
    }

    public List<String> tagList() {
        return tags.isEmpty() ? List.of() : List.of(tags.split("\\|"));
    }

    private static String text(String field) {
        return field.isEmpty() ? null : field;
    }

    private static Integer integer(String field) {
        return field.isEmpty() ? null : Integer.valueOf(field);
    }
}
