"""Classes of the JDK, Flink and Scala that Kryo writes by their fields, and enums, as users describe theirs.

Constants of enums only grow at the end; the JDK has these since 8, and no constant of them has a body since 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.descriptions import kryo_class

if TYPE_CHECKING:
    from savepoint_formats.layout import KryoClass

_OBJECT, _TEXT, _INTEGER = "java.lang.Object", "java.lang.String", "java.lang.Integer"
_COMPARATOR = "java.util.Comparator"
_FLINK = "org.apache.flink.types."
_TREE_ENTRY = "java.util.TreeMap$Entry"

_ENUMS = {
    "java.time.DayOfWeek": "MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY",
    "java.time.Month": "JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER OCTOBER NOVEMBER"
    " DECEMBER",
    "java.time.temporal.ChronoUnit": "NANOS MICROS MILLIS SECONDS MINUTES HOURS HALF_DAYS DAYS WEEKS"
    " MONTHS YEARS DECADES CENTURIES MILLENNIA ERAS FOREVER",
    "java.time.temporal.ChronoField": "NANO_OF_SECOND NANO_OF_DAY MICRO_OF_SECOND MICRO_OF_DAY"
    " MILLI_OF_SECOND MILLI_OF_DAY SECOND_OF_MINUTE SECOND_OF_DAY MINUTE_OF_HOUR MINUTE_OF_DAY"
    " HOUR_OF_AMPM CLOCK_HOUR_OF_AMPM HOUR_OF_DAY CLOCK_HOUR_OF_DAY AMPM_OF_DAY DAY_OF_WEEK"
    " ALIGNED_DAY_OF_WEEK_IN_MONTH ALIGNED_DAY_OF_WEEK_IN_YEAR DAY_OF_MONTH DAY_OF_YEAR EPOCH_DAY"
    " ALIGNED_WEEK_OF_MONTH ALIGNED_WEEK_OF_YEAR MONTH_OF_YEAR PROLEPTIC_MONTH YEAR_OF_ERA YEAR ERA"
    " INSTANT_SECONDS OFFSET_SECONDS",
    "java.time.chrono.IsoEra": "BCE CE",
    "java.time.chrono.HijrahEra": "AH",
    "java.time.chrono.MinguoEra": "BEFORE_ROC ROC",
    "java.time.chrono.ThaiBuddhistEra": "BEFORE_BE BE",
    "java.time.format.TextStyle": "FULL FULL_STANDALONE SHORT SHORT_STANDALONE NARROW NARROW_STANDALONE",
    "java.time.format.FormatStyle": "FULL LONG MEDIUM SHORT",
    "java.time.format.SignStyle": "NORMAL ALWAYS NEVER NOT_NEGATIVE EXCEEDS_PAD",
    "java.time.format.ResolverStyle": "STRICT SMART LENIENT",
    "java.util.concurrent.TimeUnit": "NANOSECONDS MICROSECONDS MILLISECONDS SECONDS MINUTES HOURS DAYS",
    "java.math.RoundingMode": "UP DOWN CEILING FLOOR HALF_UP HALF_DOWN HALF_EVEN UNNECESSARY",
    "java.lang.Thread$State": "NEW RUNNABLE BLOCKED WAITING TIMED_WAITING TERMINATED",
    "java.nio.file.StandardOpenOption": "READ WRITE APPEND TRUNCATE_EXISTING CREATE CREATE_NEW"
    " DELETE_ON_CLOSE SPARSE SYNC DSYNC",
    "java.nio.file.StandardCopyOption": "REPLACE_EXISTING COPY_ATTRIBUTES ATOMIC_MOVE",
    "java.nio.file.LinkOption": "NOFOLLOW_LINKS",
    "java.nio.file.attribute.PosixFilePermission": "OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ"
    " GROUP_WRITE GROUP_EXECUTE OTHERS_READ OTHERS_WRITE OTHERS_EXECUTE",
    "java.util.Locale$Category": "DISPLAY FORMAT",
    "java.util.stream.Collector$Characteristics": "CONCURRENT UNORDERED IDENTITY_FINISH",
    "java.text.Normalizer$Form": "NFD NFC NFKD NFKC",
    "java.util.Comparators$NaturalOrderComparator": "INSTANCE",
    f"{_FLINK}RowKind": "INSERT UPDATE_BEFORE UPDATE_AFTER DELETE",
}
"""Enum -> its constants in their order."""

_PAIR = {"key": _OBJECT, "value": _OBJECT}
_STATISTICS = {"count": "long", "max": "long", "min": "long", "sum": "long"}

_FINAL = {
    f"{_FLINK}Row": {
        "fieldByName": f"java.util.Map<{_TEXT}, {_OBJECT}>",
        "fieldByPosition": f"{_OBJECT}[]",
        "kind": f"{_FLINK}RowKind",
        "positionByName": f"java.util.LinkedHashMap<{_TEXT}, {_INTEGER}>",
    },
    f"{_FLINK}NullValue": {},
    _TREE_ENTRY: _PAIR
    | {"color": "boolean"}
    | dict.fromkeys(("left", "parent", "right"), _TREE_ENTRY),
    "java.util.Comparators$NullComparator": {"nullFirst": "boolean", "real": _COMPARATOR},
    "java.math.MathContext": {"precision": "int", "roundingMode": "java.math.RoundingMode"},
    "scala.math.BigDecimal": {
        "bigDecimal": "java.math.BigDecimal",
        "computedHashCode": "int",
        "mc": "java.math.MathContext",
    },
    "scala.math.BigInt": {"bigInteger": "java.math.BigInteger"},
}
_OPEN = {
    **dict.fromkeys(
        ("java.util.AbstractMap$SimpleImmutableEntry", "java.util.KeyValueHolder"), _PAIR
    ),
    "java.util.HashMap$Node": _PAIR | {"hash": "int", "next": "java.util.HashMap$Node"},
    "java.util.Collections$UnmodifiableMap$UnmodifiableEntrySet$UnmodifiableEntry": {
        "e": "java.util.Map$Entry"
    },
    "java.util.Collections$ReverseComparator2": {"cmp": _COMPARATOR},
    "java.lang.String$CaseInsensitiveComparator": {},
    "java.util.concurrent.atomic.AtomicBoolean": {"value": "int"},
    "java.util.concurrent.atomic.AtomicReference": {"value": _OBJECT},
    "java.util.concurrent.atomic.AtomicIntegerArray": {"array": "int[]"},
    "java.util.concurrent.atomic.AtomicLongArray": {"array": "long[]"},
    "java.util.IntSummaryStatistics": _STATISTICS | {"max": "int", "min": "int"},
    "java.util.LongSummaryStatistics": _STATISTICS,
    "java.util.DoubleSummaryStatistics": {"count": "long"}
    | dict.fromkeys(("max", "min", "simpleSum", "sum", "sumCompensation"), "double"),
    "java.io.File": {"path": _TEXT},
    f"{_FLINK}Either$Left": {"right": f"{_FLINK}Either$Right", "value": _OBJECT},
    f"{_FLINK}Either$Right": {"left": f"{_FLINK}Either$Left", "value": _OBJECT},
    f"{_FLINK}StringValue": {"hashCode": "int", "len": "int", "value": "char[]"},
    **{
        f"{_FLINK}{kind.capitalize()}Value": {"value": kind}
        for kind in ("boolean", "byte", "short", "char", "int", "long", "float", "double")
    },
}

PLAIN_CLASSES: dict[str, KryoClass] = {
    **{
        name: kryo_class(name, constants=constants.split(), is_final=True)
        for name, constants in _ENUMS.items()
    },
    **{name: kryo_class(name, fields, is_final=True) for name, fields in _FINAL.items()},
    **{name: kryo_class(name, fields) for name, fields in _OPEN.items()},
}
