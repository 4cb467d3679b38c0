"""Description of one operator's state, made of a table of rows, as a small YAML file.

::

    uid: totals                     # the operator: its uid, or its hash
    keyed_state:
      key: account                  # a column; several are the fields of a tuple
      key_type: LONG                # see `type_names`; optional where the file has types
      states:
        - {name: total, kind: value, type: DOUBLE, column: sum}

``docs/how-to/export-and-import.md`` explains all fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from savepoint_database.types import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
    YamlSection,
    parse_parts,
    parse_type,
)
from savepoint_formats.errors import DescriptionError
from savepoint_formats.key_groups import MAX_PARALLELISM

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from savepoint_database.types import StateDescriptor, TypeInformation

_DESCRIPTORS: dict[str, Callable[[str, str], StateDescriptor]] = {
    "value": lambda name, text: ValueStateDescriptor(name, parse_type(text)),
    "list": lambda name, text: ListStateDescriptor(name, *parse_parts(text, "LIST")),
    "map": lambda name, text: MapStateDescriptor(name, *parse_parts(text, "MAP")),
    "reducing": lambda name, text: ReducingStateDescriptor(name, parse_type(text)),
    "aggregating": lambda name, text: AggregatingStateDescriptor(name, parse_type(text)),
}
_MERGE_RULES = ("sum", "min", "max", "concat")
_LONGEST_LATENESS_MS = 2**53


@dataclass(frozen=True)
class StateDescription:
    """A column of keyed state; ``last_access`` is the column of its times, ``merge`` a rule for rows of a key."""

    descriptor: StateDescriptor
    column: str
    last_access: str | None
    merge: str | None

    @classmethod
    def of(cls, section: YamlSection) -> Self:
        """Raises ``DescriptionError``, as all constructors here do."""
        section.expect_only(("name", "kind", "type", "column", "ttl", "last_access", "merge"))
        name, kind = section.text("name"), section.choice("kind", _DESCRIPTORS, "value")
        section.text("type")
        descriptor = section.parsed("type", lambda text: _DESCRIPTORS[kind](name, text))
        assert descriptor is not None  # the field is there
        last_access = section.optional_text("last_access")
        if section.flag("ttl"):
            descriptor = descriptor.with_ttl()
        elif last_access is not None:
            raise section.error("only a state with ttl has one: add ttl: true", "last_access")
        merge = None
        if "merge" in section.fields:
            merge = section.choice("merge", _MERGE_RULES)
        return cls(descriptor, section.optional_text("column") or name, last_access, merge)


@dataclass(frozen=True)
class TimerDescription:
    """A column of timers; ``time_domain`` is ``event`` or ``processing``, ``is_list`` means lists of times."""

    time_domain: str
    column: str
    is_list: bool
    service: str

    @classmethod
    def of(cls, section: YamlSection) -> Self:
        section.expect_only(("time_domain", "column", "is_list", "service"))
        return cls(
            section.choice("time_domain", ("event", "processing")),
            section.text("column"),
            section.flag("is_list"),
            section.optional_text("service") or "user-timers",
        )


@dataclass(frozen=True)
class WindowDescription:
    """Windows of rows, in one column of structs or in columns of start and end."""

    columns: tuple[str, ...]
    is_merging: bool
    is_processing_time: bool
    allowed_lateness_ms: int

    @classmethod
    def of(cls, section: YamlSection) -> Self:
        flags = ("is_merging", "is_processing_time", "allowed_lateness_ms")
        section.expect_only(("column", "start", "end", *flags))
        if "column" in section.fields and {"start", "end"} & section.fields.keys():
            raise section.error("there is a column of windows, and one of start or end: name one")
        names = ("column",) if "column" in section.fields else ("start", "end")
        return cls(
            tuple(section.text(name) for name in names),
            section.flag("is_merging"),
            section.flag("is_processing_time"),
            section.number("allowed_lateness_ms", 0, _LONGEST_LATENESS_MS) or 0,
        )


@dataclass(frozen=True)
class KeyedDescription:
    """Rows of keyed state; without ``key_type``, the key has the type that its column most likely has."""

    key: tuple[str, ...]
    key_type: TypeInformation | None
    key_groups: str | None
    states: tuple[StateDescription, ...]
    timers: tuple[TimerDescription, ...]
    window: WindowDescription | None

    @classmethod
    def of(cls, section: YamlSection) -> Self:
        section.expect_only(("key", "key_type", "key_groups", "states", "timers", "window"))
        states = tuple(map(StateDescription.of, section.sections("states")))
        timers = tuple(map(TimerDescription.of, section.sections("timers")))
        window = section.section("window")
        if not states and not timers:
            raise section.error("no column becomes state: add states, or timers")
        if window is not None and timers:
            raise section.error("windows have timers of their own: leave them out", "timers")
        _expect_distinct(section, "states", [state.descriptor.name for state in states])
        _expect_distinct(
            section, "timers", [f"{timer.time_domain} {timer.service}" for timer in timers]
        )
        return cls(
            section.texts("key"),
            section.parsed("key_type", parse_type),
            section.optional_text("key_groups"),
            states,
            timers,
            WindowDescription.of(window) if window else None,
        )


@dataclass(frozen=True)
class OperatorStateDescription:
    """Columns of an operator state: ``list``, ``union`` or ``broadcast``."""

    kind: str
    descriptor: ListStateDescriptor | MapStateDescriptor
    columns: tuple[str, ...]

    @classmethod
    def of(cls, section: YamlSection) -> Self:
        kind = section.choice("kind", ("list", "union", "broadcast"))
        is_broadcast = kind == "broadcast"
        columns = ("key", "value") if is_broadcast else ("column",)
        section.expect_only(("name", "kind", "type", *columns))
        name = section.text("name")
        section.text("type")

        def described(text: str) -> ListStateDescriptor | MapStateDescriptor:
            if is_broadcast:
                return MapStateDescriptor(name, *parse_parts(text, "MAP"))
            return ListStateDescriptor(name, parse_type(text))

        descriptor = section.parsed("type", described)
        assert descriptor is not None  # the field is there
        defaults = columns if is_broadcast else (name,)
        with_defaults = zip(columns, defaults, strict=True)
        return cls(
            kind,
            descriptor,
            tuple(section.optional_text(column) or default for column, default in with_defaults),
        )


@dataclass(frozen=True)
class LikeDescription:
    """An existing operator, whose types the columns have.

    ``state`` is an operator state, None for keyed state. ``ttl_times`` is ``now`` if values with
    TTL get the time of writing as their last access.
    """

    savepoint: str
    operator: str
    state: str | None
    ttl_times: Literal["now"] | None = None

    @classmethod
    def of(cls, section: YamlSection) -> Self:
        section.expect_only(("savepoint", "operator", "state", "ttl_times"))
        if "ttl_times" in section.fields:
            section.choice("ttl_times", ("now",))
        state = section.optional_text("state")
        if state is not None and "ttl_times" in section.fields:
            raise section.error("operator state has no time to live: leave it out", "ttl_times")
        return cls(
            section.text("savepoint"),
            section.text("operator"),
            state,
            "now" if "ttl_times" in section.fields else None,
        )


@dataclass(frozen=True)
class ImportDescription:
    """Description of the state to make of a table of rows.

    Attributes:
        file: Name of the file in errors.
        uid: Uid or hash of the operator.
        max_parallelism: Number of key groups.
        parallelism: Number of subtasks.
        base: A savepoint that the new one is based on.
        keyed: The keyed state.
        operator_states: The operator states.
        like: The operator whose types are used.
    """

    file: str
    uid: str
    max_parallelism: int | None
    parallelism: int | None
    base: str | None
    keyed: KeyedDescription | None
    operator_states: tuple[OperatorStateDescription, ...]
    like: LikeDescription | None

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """The description in a file, which is UTF-8.

        Raises:
            DescriptionError: The file has another encoding; otherwise as ``parse``.

        Example:
            >>> ImportDescription.of_file(Path("totals.yaml"))
        """
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DescriptionError(
                f"{path} at byte {error.start}: it is not UTF-8, which a description must be"
            ) from error
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, file: str = "<description>") -> Self:
        """The description in a YAML text.

        Args:
            text: The text.
            file: Its name in errors.

        Raises:
            DescriptionError: A field is wrong or missing; names its line.

        Example:
            >>> ImportDescription.parse(text, "totals.yaml")
        """
        section = YamlSection.of_text(text, file)
        made_of = ("keyed_state", "operator_state", "like")
        section.expect_only(("uid", "max_parallelism", "parallelism", "base", *made_of))
        keyed, like = section.section("keyed_state"), section.section("like")
        others = tuple(map(OperatorStateDescription.of, section.sections("operator_state")))
        uid = section.text("uid")
        if keyed is None and like is None and not others:
            raise section.error(f"nothing becomes state: add one of {', '.join(made_of)}")
        if like is not None and (keyed or others):
            raise section.error("types come from there: leave keyed_state and others out", "like")
        _expect_distinct(section, "operator_state", [other.descriptor.name for other in others])
        parallelism = section.number("parallelism", 1, MAX_PARALLELISM)
        max_parallelism = section.number("max_parallelism", 1, MAX_PARALLELISM)
        if parallelism and max_parallelism and parallelism > max_parallelism:
            raise section.error(f"it is more than max_parallelism {max_parallelism}", "parallelism")
        return cls(
            file,
            uid,
            max_parallelism,
            parallelism,
            section.optional_text("base"),
            KeyedDescription.of(keyed) if keyed else None,
            others,
            LikeDescription.of(like) if like else None,
        )


def _expect_distinct(section: YamlSection, name: str, names: list[str]) -> None:
    for repeated in names:
        if names.count(repeated) > 1:
            raise section.error(f"{repeated!r} is given twice", name)
