package shop;

/** One row of {@code rates.csv}: a later rate of a currency replaces an earlier one. */
public class CurrencyRate {
    public int currencyId;
    public double rate;

    public static CurrencyRate parse(String line) {
        String[] fields = line.split(",", -1);
        CurrencyRate rate = new CurrencyRate();
        rate.currencyId = Integer.parseInt(fields[0]);
        rate.rate = Double.parseDouble(fields[1]);
        return rate;
    }
}
