"""Thresholds of a watch: a file of YAML, whose mistakes are all told with line and column.

::

    size: 500 GB
    growth-per-day: 1 GB
    age: 15 min
    states:
      orders.open: {growth-per-day: 100 MB, size: 20 GB}
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import yaml

from savepoint_database.types import NOT_YAML, events_with_depth, milliseconds, why_not_yaml
from savepoint_extensions.watch.breaches import breaches
from savepoint_extensions.watch.spans import AFTER, LEAST_POINTS, OVER, Span, is_limit
from savepoint_formats.errors import DescriptionError, UsageError
from savepoint_formats.printable import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from savepoint_extensions.watch.breaches import Breach
    from savepoint_extensions.watch.watch_round import WatchRound
    from savepoint_formats.locations import PathText

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_CHECKPOINTS = re.compile(r"(\d+)\s+checkpoints")
_MOST_CHARACTERS, _DEEPEST = 1 << 20, 8


class ThresholdError(DescriptionError, UsageError):
    """A file of thresholds has mistakes; ``problems`` has each of them, with its place."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def _size(text: str) -> float:
    match = _SIZE.fullmatch(text)
    if match is None or match[2].upper() not in _UNITS:
        raise ValueError(f"{text!r}, expected bytes such as 500 MB or 1.5 GB")
    return float(match[1]) * _UNITS[match[2].upper()]


def _number(text: str) -> float:
    try:
        number = float(text.replace("_", ""))
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise ValueError(f"{text!r}, expected a number of 0 or more")
    return number


def _share(text: str) -> float:
    number = _number(text.removesuffix("%").strip())
    share = number / 100 if text.endswith("%") else number
    if share > 1:
        raise ValueError(f"{text!r}, expected a share such as 20% or 0.2")
    return share


def _seconds(text: str) -> float:
    if text.strip().isdigit():
        raise ValueError(f"{text!r} has no unit, expected a time such as 15 min or 6 h")
    try:
        return milliseconds(text) / 1000
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r}, expected a time such as 15 min or 6 h") from error


def _window(text: str) -> Span:
    span = _span(text)
    if span.checkpoints is not None and not LEAST_POINTS <= span.checkpoints <= 256:
        raise ValueError(f"{text!r}, expected {LEAST_POINTS} to 256 checkpoints")
    return span


def _span(text: str) -> Span:
    match = _CHECKPOINTS.fullmatch(text)
    if match is None:
        try:
            return Span(seconds=_seconds(text))
        except ValueError as error:
            message = f"{text!r}, expected a time such as 6 h, or such as 10 checkpoints"
            raise ValueError(message) from error
    return Span(checkpoints=int(match[1]))


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the file: how its value is read, and what it means."""

    parse: Callable[[str], Any]
    help: str
    example: str


STATE_WORDS = {
    "size": Word(_size, "Bytes of the state.", "20 GB"),
    "growth-per-day": Word(_size, "Bytes by which the state grows steadily in a day.", "1 GB"),
    "expired-share": Word(_share, "Share of the values past their time to live.", "30%"),
    "overdue-timers": Word(_number, "Timers of processing time that are overdue.", "1000"),
}
"""Thresholds of a state."""

WORDS = {
    "size": Word(_size, "Bytes of a checkpoint.", "500 GB"),
    "state-size": Word(_size, "Bytes of any state.", "100 GB"),
    **{name: word for name, word in STATE_WORDS.items() if name != "size"},
    "over": Word(_window, "Checkpoints, or time, over which growth is judged.", "6 h"),
    "after": Word(_span, "Checkpoints, or time, in which the job fills its state.", "1 d"),
    "subtask-skew": Word(_number, "The fullest subtask, as a multiple of the mean.", "2"),
    "key-group-skew": Word(_number, "The fullest key group, as a multiple of the mean.", "10"),
    "key-entries": Word(_number, "Entries of any key.", "100000"),
    "key-size": Word(_size, "Bytes of any key.", "100 MB"),
    "in-flight": Word(_size, "Bytes of records in flight.", "10 GB"),
    "age": Word(_seconds, "Time since the newest checkpoint.", "15 min"),
    "intact-age": Word(_seconds, "Time since the newest checkpoint that is intact.", "1 h"),
}
"""Thresholds of a job."""

_STATES = "states"
_TIMES = ("over", "after")
_OF_JOB = tuple(word for word in WORDS if word not in _TIMES)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds of a job, and of single states by ``<operator>.<state>``.

    Attributes:
        limits: Word of the file -> its number: bytes, seconds, a share, or a count.
        states: State -> word -> number; they replace those of the job.
        over: Window of the line through sizes.
        after: Time in which the job fills its state.
    """

    limits: Mapping[str, float] = field(default_factory=dict)
    states: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    over: Span = OVER
    after: Span = AFTER

    def __post_init__(self) -> None:
        """Raises ``ValueError`` for an unknown word, or a limit that is no number of 0 or more."""
        for known, own in (
            (_OF_JOB, self.limits),
            *((STATE_WORDS, it) for it in self.states.values()),
        ):
            for word, limit in own.items():
                if word not in known:
                    names, hint = ", ".join(sorted(known)), did_you_mean(word, known)
                    raise ValueError(
                        f"there is no threshold {word!r}, expected one of {names}{hint}"
                    )
                if not is_limit(limit):
                    raise ValueError(
                        f"the threshold {word!r} is {limit!r}, expected a number of 0 or more"
                    )

    @classmethod
    def of_file(cls, file: PathText) -> Self:
        """The thresholds of a file in YAML or JSON; raises what ``of_text`` raises."""
        try:
            text = Path(file).read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ThresholdError(f"{file} can't be read: {error}") from error
        return cls.of_text(text, str(file))

    @classmethod
    def of_text(cls, text: str, file: str) -> Self:
        """The thresholds of a text.

        Raises:
            ThresholdError: The text has mistakes; the message has all of them.
        """
        reading = _Reading(file)
        limits, states = dict[str, Any](), dict[str, dict[str, float]]()
        for name, node in reading.fields(reading.composed(text), {*WORDS, _STATES}):
            if name == _STATES:
                for state, inner in reading.fields(node, None):
                    pairs = reading.fields(inner, STATE_WORDS.keys())
                    states[state] = reading.values(pairs, STATE_WORDS)
            else:
                limits |= reading.values([(name, node)], WORDS)
        if not reading.problems and not limits and not states:
            reading.problems.append(f"{file} has no threshold, expected such as age: 15 min")
        if reading.problems:
            raise ThresholdError(*reading.problems)
        times = {name: limits.pop(name) for name in _TIMES if name in limits}
        return cls(limits, states, **times)

    def limit(self, word: str, state: str = "") -> float | None:
        """The number of a word, for a state if one is named; None if there is none."""
        own = self.states.get(state, {})
        if word in own:
            return own[word]
        return self.limits.get("state-size" if state and word == "size" else word)

    def breaches(self, answer: WatchRound) -> tuple[Breach, ...]:
        """What is above its threshold in a round of a watch, and what could not be read in it.

        Example:
            >>> Thresholds.of_file("limits.yaml").breaches(watch("s3://jobs/checkpoints/1a2b").round())
        """
        return breaches(answer, self)


@dataclass(slots=True)
class _Reading:
    """Collects the mistakes of a file."""

    file: str
    problems: list[str] = field(default_factory=list)

    def wrong(self, node: yaml.Node, message: str) -> None:
        mark = node.start_mark
        self.problems.append(
            f"{self.file} line {mark.line + 1} column {mark.column + 1}: {message}"
        )

    def composed(self, text: str) -> yaml.Node | None:
        """The node of a text; None for one that is empty, or no YAML."""
        if len(text) > _MOST_CHARACTERS:
            self.problems.append(f"{self.file} has {len(text):,} characters, too many")
            return None
        try:
            for event, depth in events_with_depth(text):
                mark = event.start_mark
                place = f"{self.file} line {mark.line + 1} column {mark.column + 1}"
                if isinstance(event, yaml.AliasEvent) or depth > _DEEPEST:
                    self.problems.append(f"{place}: an alias, or something nested too deep")
                    return None
            return yaml.compose(text, yaml.SafeLoader)
        except (yaml.YAMLError, *NOT_YAML) as error:
            mark, reason = why_not_yaml(error)
            place = f" line {mark.line + 1} column {mark.column + 1}" if mark else ""
            self.problems.append(f"{self.file}{place}: {reason}")
        return None

    def fields(
        self, node: yaml.Node | None, known: set[str] | Any | None
    ) -> list[tuple[str, yaml.Node]]:
        """Names and nodes of a mapping; ``known`` has the names that it may have."""
        if node is None:
            return []
        if not isinstance(node, yaml.MappingNode):
            self.wrong(node, "expected a mapping of names and values")
            return []
        pairs: dict[str, yaml.Node] = {}
        for name, value in node.value:
            if not isinstance(name, yaml.ScalarNode) or not name.value:
                self.wrong(name, "expected a name")
            elif name.value in pairs:
                self.wrong(name, f"{name.value!r} is there twice")
            elif known is not None and name.value not in known:
                hint = did_you_mean(name.value, sorted(known))
                names = ", ".join(sorted(known))
                self.wrong(name, f"there is no {name.value!r}, expected one of {names}{hint}")
            else:
                pairs[name.value] = value
        return list(pairs.items())

    def values(
        self, pairs: list[tuple[str, yaml.Node]], words: Mapping[str, Word]
    ) -> dict[str, Any]:
        """The values of words; a wrong one is left out."""
        values = {}
        for name, node in pairs:
            if not isinstance(node, yaml.ScalarNode):
                self.wrong(
                    node, f"{name} is no single value, expected such as {words[name].example}"
                )
                continue
            try:
                values[name] = words[name].parse(str(node.value).strip())
            except ValueError as error:
                self.wrong(node, f"{name}: {error}")
        return values


def threshold_schema() -> dict[str, Any]:
    """The JSON Schema of a file of thresholds, with which editors complete and check it."""

    def properties(words: Mapping[str, Word]) -> dict[str, Any]:
        return {
            name: {
                "type": ["string", "number"],
                "description": word.help,
                "examples": [word.example],
            }
            for name, word in words.items()
        }

    own = {"type": "object", "properties": properties(STATE_WORDS), "additionalProperties": False}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Thresholds of a job's state",
        "description": "What savepoint watch --thresholds compares each checkpoint with.",
        "type": "object",
        "minProperties": 1,
        "properties": {
            **properties(WORDS),
            _STATES: {
                "type": "object",
                "description": "Thresholds of single states, by operator.state.",
                "additionalProperties": own,
            },
        },
        "additionalProperties": False,
    }
