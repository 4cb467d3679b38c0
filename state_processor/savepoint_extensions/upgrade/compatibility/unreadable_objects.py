"""Finds objects that Flink's Kryo writes but can't read back, by the names of their classes in the bytes.

Kryo reads a collection by adding elements to a new one, whose fields are all null. Unmodifiable
collections refuse that; views and wrappers lack what they look at. The restore fails, or the first
access, and no serializer snapshot tells. The name of a class stands behind two varints, 1 and its
number; its last byte has the highest bit set, or its length stands in front.

Tests write one object per class with the Kryo of both versions, and read it back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from savepoint_formats.errors import SavepointError
from savepoint_formats.layout import holds_kryo
from savepoint_formats.scan import StoredValues, may_have
from savepoint_formats.values import names_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from savepoint_extensions.upgrade.compatibility.facts import OperatorFacts, StateFacts
    from savepoint_formats.locations import SnapshotDirectory
    from savepoint_formats.scan import Glance, Values
    from savepoint_formats.state_files import State
    from savepoint_formats.values import KryoDialect

_UTIL = "java.util."
_WRAPPERS = f"{_UTIL}Collections$"
_COLLECTIONS = ("Collection", "List", "RandomAccessList", "Set", "SortedSet", "NavigableSet")
_MAPS = ("Map", "SortedMap", "NavigableMap")
_VIEWS = ("KeySet", "Values", "EntrySet")
_CONCURRENT = f"{_UTIL}concurrent."

_BY_NO_KRYO = frozenset(
    (
        *(
            f"{_WRAPPERS}{kind}{form}"
            for kind in ("Unmodifiable", "Synchronized", "Checked")
            for form in (*_COLLECTIONS, *_MAPS)
        ),
        *names_of(_WRAPPERS, "CheckedQueue", "SetFromMap", "AsLIFOQueue", "CopiesList"),
        f"{_WRAPPERS}UnmodifiableMap$UnmodifiableEntrySet",
        f"{_WRAPPERS}UnmodifiableNavigableSet$EmptyNavigableSet",
        *names_of(f"{_UTIL}AbstractList$", "SubList", "RandomAccessSubList"),
        *names_of(_UTIL, "ArrayList$SubList", "EnumMap"),
        *names_of(f"{_UTIL}LinkedHashMap$Linked", *_VIEWS),
        *(
            f"{_UTIL}{owner}${view}"
            for owner in ("HashMap", "TreeMap", "IdentityHashMap", "WeakHashMap", "EnumMap")
            for view in _VIEWS
        ),
        *names_of(f"{_UTIL}TreeMap$", "AscendingSubMap", "DescendingSubMap"),
        *names_of(f"{_CONCURRENT}ConcurrentSkipListMap$", *_VIEWS, "SubMap"),
        *names_of(f"{_CONCURRENT}ConcurrentHashMap$", "KeySetView", "ValuesView", "EntrySetView"),
        *names_of(_CONCURRENT, "ArrayBlockingQueue", "CopyOnWriteArrayList$COWSubList"),
    )
)
_ONLY_BY_KRYO_5 = frozenset(
    (
        *names_of(f"{_UTIL}ImmutableCollections$", "List12", "ListN", "SubList"),
        *names_of(f"{_UTIL}ImmutableCollections$", "Set12", "SetN", "Map1", "MapN"),
        "java.net.URL",
    )
)
_GUAVA = r"com\.google\.common\."
_COMMONS = r"org\.apache\.commons\.collections4?\.(?:bag|collection|list|map|queue|set)\."
_PATTERNS = (
    rf"{_GUAVA}collect\.[\w$]*Immutable",
    rf"{_GUAVA}collect\.(?:LinkedHash|Tree)Multima",
    rf"{_GUAVA}collect\.(?:Tree|ConcurrentHash|Enum)Multise",
    rf"{_GUAVA}collect\.(?:Hash|Enum|EnumHash)BiMa",
    rf"{_GUAVA}collect\.(?:EvictingQueu|MinMaxPriorityQueu|MapMakerInternalMa|CartesianLis)",
    # Views, and what wraps others.
    rf"{_GUAVA}collect\.(?:Lists|Sets|Maps|Collections2|Multimaps|Multisets)\$",
    rf"{_GUAVA}collect\.Abstract(?:MapBasedMultimap|Multimap|Multiset|Table)\$",
    rf"{_GUAVA}collect\.(?:StandardTable\$Ro|TreeRangeSet\$AsRange)",
    rf"{_GUAVA}collect\.Synchronized\$Synchronized(?:BiMa|Queu|Dequ)",
    rf"{_GUAVA}primitives\.\w+\$\w+AsLis",
    rf"{_GUAVA}cache\.LocalCach",
    rf"{_COMMONS}(?:Unmodifiable|FixedSize|Lazy|Defaulted|Predicated|Transformed|Synchronized)",
    r"jdk\.proxy\d+\.\$Proxy",
    r"com\.sun\.proxy\.\$Proxy",
    r"[\w.$]+\$\$Lambda",
)
"""Beginnings of names of libraries, without the last letter, and of names that differ from run to run."""

_FRONT = r"(?s)\x01[\x00-\x7f](?:[\x80-\xbf]|[\xc0-\xff][\x00-\x7f])?"
_END = r"[\w$/]*[\x80-\xff]?"
_REPLACEMENTS = (
    # No class of java.util has the fields of a multimap.
    (r"\$Proxy|Lambda|^java\.net|Multimap$", ""),
    (r"Map(View)?\w?$|\.LocalCache$|\$Row$", "LinkedHashMap"),
    (r"Set[^$]*$", "LinkedHashSet"),
    (r"Queue$", "ArrayDeque"),
    ("", "ArrayList"),
)
"""Text in the name of a class -> the class of ``java.util`` that reads its bytes."""

_LOW_BITS = 0x7F


def is_readable(class_name: str, *, is_5: bool) -> bool:
    """Whether this Kryo reads an object of a class that the search finds."""
    return is_5 and class_name in _ONLY_BY_KRYO_5


def replacement(class_name: str) -> str:
    """The class that holds the same elements, and is read back; empty if there is none."""
    kind = next(kind for part, kind in _REPLACEMENTS if re.search(part, class_name))
    return f"{_UTIL}{kind}" if kind else ""


@dataclass
class UnreadableObjects:
    """The classes of such objects in values, one after the other.

    Attributes:
        classes: Their names.
        unseen: Reason why not all values were searched, or empty.
    """

    classes: set[str] = field(default_factory=set)
    unseen: str = ""

    def look_at(self, data: pa.LargeBinaryArray) -> None:
        """Adds the classes in some values."""
        while True:
            pattern = _pattern((_BY_NO_KRYO | _ONLY_BY_KRYO_5) - self.classes)
            names = pc.struct_field(pc.extract_regex(data, pattern), "name")
            data = data.filter(pc.is_valid(names))
            classes = {_name(bytes(name)) for name in pc.unique(names.drop_null()).to_pylist()}
            if classes <= self.classes:
                return
            self.classes |= classes


def _name(data: bytes) -> str:
    return bytes((*data[:-1], data[-1] & _LOW_BITS)).decode("latin-1")


@cache
def _pattern(names: frozenset[str]) -> str:
    """Finds the first of the names in a value; longer ones first, as they may begin with others."""
    exact = [
        rf"{re.escape(name[:-1])}[{name[-1]}\x{ord(name[-1]) | 0x80:02x}]"
        for name in sorted(names, key=len, reverse=True)
    ]
    any_of_them = "|".join((*exact, *(part + _END for part in _PATTERNS)))
    return rf"{_FRONT}(?P<name>{any_of_them})(?:[^\w$]|\z)"


def with_unreadable_objects(
    facts: OperatorFacts,
    directory: SnapshotDirectory,
    states: Iterable[State],
    kryo: KryoDialect,
    glance: Glance,
    *,
    is_5: bool,
) -> OperatorFacts:
    """The facts, with the classes of objects in values of these states that a Kryo can't read back."""
    values = StoredValues(directory, facts.record, kryo)
    seen = {
        state.name: _seen(values.of(state), glance)
        for state in states
        if not state.kind.is_raw and may_have(state, holds_kryo)
    }
    return replace(facts, states=tuple(_noted(state, seen, is_5=is_5) for state in facts.states))


def _seen(values: Values, glance: Glance) -> UnreadableObjects:
    objects = UnreadableObjects()
    try:
        for layout, data in values:
            if not holds_kryo(layout):
                continue
            if not glance.takes(data):
                objects.unseen = "there are more values than are searched"
                break
            objects.look_at(data)
    except SavepointError as error:
        objects.unseen = str(error)
    return objects


def _noted(state: StateFacts, seen: dict[str, UnreadableObjects], *, is_5: bool) -> StateFacts:
    objects = seen.get(state.name)
    if objects is None:
        return state
    names = sorted(name for name in objects.classes if not is_readable(name, is_5=is_5))
    return replace(state, unreadable=tuple(names), unsearched=objects.unseen)
