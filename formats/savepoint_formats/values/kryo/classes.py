"""Names of classes: primitives and their wrappers, and the classes that Kryo writes as numbers.

| number   | class                                    | known to                        |
|----------|------------------------------------------|---------------------------------|
| 0 to 8   | wrappers and String                      | every Kryo                      |
| 9        | Void                                     | 2.24                            |
| 10 to 72 | Scala                                    | 2.24 in Flink's distribution    |
| 73 to 84 | some of the JDK                          | both in Flink's distribution    |
| 85...    | registrations of the serializer snapshot | both                            |

Flink: ``KryoSerializer``, ``FlinkScalaKryoInstantiator``, ``FlinkChillPackageRegistrar``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from savepoint_formats.layout import KryoRegistration
    from savepoint_formats.values.kryo.dialect import KryoDialect

CODES = {
    "Z": "boolean",
    "B": "byte",
    "C": "char",
    "S": "short",
    "I": "int",
    "J": "long",
    "F": "float",
    "D": "double",
}
"""Code of a primitive type in class files and in names of arrays -> its name."""

WRAPPERS = {
    "java.lang.Integer": "int",
    "java.lang.Float": "float",
    "java.lang.Boolean": "boolean",
    "java.lang.Byte": "byte",
    "java.lang.Character": "char",
    "java.lang.Short": "short",
    "java.lang.Long": "long",
    "java.lang.Double": "double",
}
"""Wrapper class -> its primitive type; Kryo never writes references to wrappers."""

BOXED = {primitive: wrapper for wrapper, primitive in WRAPPERS.items()}


def names_of(package: str, *names: str) -> tuple[str, ...]:
    """Names of classes that begin alike."""
    return tuple(f"{package}{name}" for name in names)


_EVERY_KRYO = (
    *names_of("java.lang.", "Integer", "String", "Float", "Boolean", "Byte"),
    *names_of("java.lang.", "Character", "Short", "Long", "Double"),
)
_VOID_ID = 9
_SCALA_ID = 10
_JDK_ID = 73

_WRAPPED = ("Seq", "Iterator", "Map", "JList", "JMap")
_SPECIALIZED_PAIRS = ("JJ", "JI", "JD", "IJ", "II", "ID", "DJ", "DI", "DD")
_SCALA = (
    *(f"scala.collection.convert.Wrappers${wrapped}Wrapper" for wrapped in _WRAPPED),
    "scala.Some",
    "scala.util.Left",
    "scala.util.Right",
    "scala.collection.immutable.Vector",
    *(f"scala.collection.immutable.Set$Set{size}" for size in range(1, 5)),
    "scala.collection.immutable.HashSet$HashTrieSet",
    *(f"scala.collection.immutable.Map$Map{size}" for size in range(1, 5)),
    "scala.collection.immutable.HashMap$HashTrieMap",
    "scala.collection.immutable.Range$Inclusive",
    "scala.collection.immutable.NumericRange$Inclusive",
    "scala.collection.immutable.NumericRange$Exclusive",
    "scala.collection.mutable.BitSet",
    "scala.collection.mutable.HashMap",
    "scala.collection.mutable.HashSet",
    "scala.collection.convert.Wrappers$IterableWrapper",
    *(f"scala.Tuple{size}" for size in range(1, 23)),
    *(f"scala.Tuple1$mc{kind}$sp" for kind in "JID"),
    *(f"scala.Tuple2$mc{kinds}$sp" for kinds in _SPECIALIZED_PAIRS),
    "scala.Symbol",
    "scala.reflect.ClassTag",
    "scala.runtime.BoxedUnit",
)
_JDK = (
    *names_of("java.util.", "Arrays$ArrayList", "BitSet", "PriorityQueue", "regex.Pattern"),
    *names_of("java.sql.", "Date", "Time", "Timestamp"),
    *names_of("java.net.", "URI", "InetSocketAddress"),
    *names_of("java.util.", "UUID", "Locale"),
    "java.text.SimpleDateFormat",
)


def registered_classes(
    dialect: KryoDialect, registrations: tuple[KryoRegistration, ...]
) -> dict[int, str]:
    """Number -> class."""
    classes = dict(enumerate(_EVERY_KRYO))
    if not dialect.is_5:
        classes[_VOID_ID] = "java.lang.Void"
        classes |= enumerate(_SCALA, _SCALA_ID)
    classes |= enumerate(_JDK, _JDK_ID)
    classes = {number: name for number, name in classes.items() if number < dialect.first_id}
    known = set(classes.values()) | set(WRAPPERS.values())
    number = dialect.first_id
    for registration in registrations:
        # Registering a class again changes nothing unless a serializer comes with it.
        if registration.serializer or registration.class_name not in known:
            classes[number] = registration.class_name
            known.add(registration.class_name)
            number += 1
    return classes
