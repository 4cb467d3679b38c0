package shop;

/** Registered nowhere. */
public class CardPayment extends Payment {
    public String card;
    public int month;
}
