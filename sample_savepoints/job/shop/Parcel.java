package shop;

/** No POJO, for it has no constructor without arguments: Kryo writes its fields. */
public final class Parcel {
    private final long id;
    private final String content;

    Parcel(long id, String content) {
        this.id = id;
        this.content = content;
    }
}
