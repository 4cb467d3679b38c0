"""Asks a real Flink what it sees in a savepoint, by the job in ``tests/flink/restore_job``."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from flink_home import FlinkHome

from support.sample_rows import SAMPLES, Rows, in_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RELEASES = ("1.20.5", "2.2.1")
LATEST = "2.3.0"
"""The release of the tests that look at it beside ``RELEASES``."""
BACKENDS = ("hashmap", "rocksdb")
SLOTS = 4

RESTORE_JOB = SAMPLES.parent / "tests" / "flink" / "restore_job"


class RestoreError(Exception):
    """Flink does not restore a savepoint; the message is its stack trace."""


@dataclass(frozen=True, slots=True)
class KeyedState:
    """A state of keys as a job declares it.

    Attributes:
        types: Of the value, the element or the accumulator; of a map, its key and its value. The
            words are those of ``TypeWords.java``, as ``TUPLE<LONG, STRING>``.
        namespace: ``VOID``, ``TIME_WINDOW``, ``GLOBAL_WINDOW`` or a type.
        ttl: In ms; 0 for none.
    """

    name: str
    kind: str
    types: tuple[str, ...]
    namespace: str = "VOID"
    ttl: int = 0

    @classmethod
    def value(cls, name: str, value: str) -> Self:
        return cls(name, "VALUE", (value,))

    @classmethod
    def list(cls, name: str, element: str) -> Self:
        return cls(name, "LIST", (element,))

    @classmethod
    def map(cls, name: str, key: str, value: str) -> Self:
        return cls(name, "MAP", (key, value))

    @classmethod
    def reducing(cls, name: str, value: str) -> Self:
        return cls(name, "REDUCING", (value,))

    @classmethod
    def aggregating(cls, name: str, accumulator: str) -> Self:
        """The shown value is the accumulator."""
        return cls(name, "AGGREGATING", (accumulator,))

    def with_ttl(self, ttl: int) -> Self:
        return replace(self, ttl=ttl)

    def under(self, namespace: str) -> Self:
        return replace(self, namespace=namespace)


@dataclass(frozen=True, slots=True)
class TimerService:
    """Timers; those of a process function are ``user-timers`` without a namespace."""

    name: str = "user-timers"
    namespace: str = "VOID"


@dataclass(frozen=True, slots=True)
class Elements:
    """A state of an operator; ``types`` of broadcast state are those of its key and value."""

    name: str
    mode: str
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TimeWindows:
    """The windows of Flink's own window operator.

    Attributes:
        assigner: ``tumbling``, ``tumbling by clock`` or ``session``.
        size: Of a window, or the gap of a session, in ms.
        contents: ``reduce``, ``aggregate`` or ``process``.
        type: Of an element, or of the accumulator.
        lateness: How long a window stays after its end, in ms.
        trigger: Of a trace, such as ``count 3 purging``; that of the assigner by default.
        evictor: Of a trace, such as ``count 3 after``; none by default.
    """

    assigner: str
    size: int
    contents: str
    type: str
    lateness: int = 0
    trigger: str = ""
    evictor: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """Rows for a function of ``TraceFunction.java``, each call of which Flink tells.

    Attributes:
        does: The function: ``sessions``, ``timeouts``, ``hourly`` or ``once``.
        events: Keys and timestamps of rows in ms; a watermark has no key.
    """

    does: str
    events: tuple[tuple[str | None, int], ...]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of the job that restores.

    Attributes:
        function: ``dump`` shows everything named here; ``fire`` is a process function that shows
            the states of a key when a timer fires; ``window`` is Flink's window operator; ``find``
            is a process function to which keys come in; ``trace`` one that tells each call;
            ``window-trace`` is a window operator to which rows come in, whose keys are numbers modulo 3.
        key: The type of its keys, if it is keyed.
        keys: How many keys come in.
        rows: Of a trace: pairs of time and number, and watermarks, each a time alone.
    """

    uid: str
    key: str | None = None
    states: tuple[KeyedState, ...] = ()
    timers: tuple[TimerService, ...] = ()
    elements: tuple[Elements, ...] = ()
    windows: TimeWindows | None = None
    function: str = "dump"
    keys: int = 0
    trace: Trace | None = None

    def as_request(self) -> dict[str, Any]:
        """The operator as the job reads it."""
        request = asdict(self)
        if self.trace is not None:
            events = [{"key": key, "at": at} for key, at in self.trace.events]
            request["trace"] = {"does": self.trace.does, "events": events}
        return request

    rows: tuple[tuple[int, ...], ...] = ()

    def tracing(self, rows: Sequence[tuple[int, ...]]) -> Self:
        """With Flink's window operator, to which these rows and watermarks come in."""
        return replace(self, function="window-trace", rows=tuple(rows))

    def real(self) -> Self:
        """With Flink's window operator instead of what only looks."""
        return replace(self, function="window")

    def firing(self) -> Self:
        """With a process function whose timers fire."""
        return replace(self, function="fire")

    def finding(self, keys: int) -> Self:
        """With a process function that shows what it finds for so many keys that come in.

        The keys are made by the method ``of`` of their class. One that is new keeps its number.
        """
        return replace(self, function="find", keys=keys)


@dataclass(frozen=True, slots=True)
class Restored:
    """State seen by Flink, in the form of ``expected.json``."""

    operators: Mapping[str, Operator]
    rows: Sequence[Mapping[str, Any]]
    savepoint: str | None = None

    def keyed_state(self, uid: str) -> Rows:
        """A row per key, with null for a state that has nothing for it."""
        names = [state.name for state in self.operators[uid].states if state.namespace == "VOID"]
        return [
            {name: cell for name, cell in row.items() if name != "namespace"}
            for row in self._per_place(uid, names)
        ]

    def window_state(self, uid: str) -> Rows:
        """A row per key and namespace, with null for a state that has nothing there."""
        names = [state.name for state in self.operators[uid].states if state.namespace != "VOID"]
        return self._per_place(uid, names)

    def timers(self, uid: str) -> Rows:
        return self._rows(uid, "timers", "key", "namespace", "timestamp", "domain")

    def elements(self, uid: str, name: str) -> list[Any]:
        """Elements, or entries of broadcast state, subtask after subtask.

        Which subtask gets which list elements, and in which order, depends on names of files.
        """
        rows = [row for row in self._of(uid, "elements") if row["elements"] == name]
        return [
            {"key": row["key"], "value": row["value"]} if "key" in row else row["value"]
            for row in sorted(rows, key=lambda row: int(row["subtask"]))
        ]

    def fired(self, uid: str) -> Rows:
        """The timers that fired, and the state that their key had then."""
        return self._rows(uid, "fired", "fired", "key", "timestamp", "states")

    def ended_windows(self, uid: str) -> Rows:
        return self._rows(uid, "window", "key", "window", "contents")

    def traced(self, uid: str) -> dict[str, list[tuple[Any, ...]]]:
        """For each key its lines in their order: kind of call, timestamp, watermark and count."""
        lines: dict[str, list[tuple[Any, ...]]] = {}
        for row in sorted(self._of(uid, "line"), key=lambda row: int(row["line"])):
            columns = ("line", "what", "timestamp", "watermark", "count")
            lines.setdefault(row["key"], []).append(tuple(row[name] for name in columns))
        return lines

    def trace(self, uid: str) -> dict[int, Rows]:
        """The rows of a trace by key, in their order."""
        by_key: dict[int, Rows] = {}
        for row in self.rows:
            if row["operator"] == uid:
                cells = {name: row[name] for name in row if name not in ("operator", "subtask")}
                by_key.setdefault(row["key"], []).append(cells)
        return by_key

    def found(self, uid: str) -> dict[int, int | None]:
        """For the number of each key that came in, that which the key had kept."""
        return {int(row["number"]): row["found"] for row in self._of(uid, "number")}

    def subtasks(self, uid: str) -> set[int]:
        """Which had anything to show."""
        return {int(row["subtask"]) for row in self.rows if row["operator"] == uid}

    def _per_place(self, uid: str, names: Sequence[str]) -> Rows:
        places: dict[str, dict[str, Any]] = {}
        for row in self._of(uid, "state"):
            if row["state"] in names:
                place = {"key": row["key"], "namespace": row["namespace"]}
                cells = places.setdefault(json.dumps(place), place | dict.fromkeys(names))
                cells[row["state"]] = row["value"]
        return in_order(places.values())

    def _rows(self, uid: str, fact: str, *columns: str) -> Rows:
        return in_order({name: row[name] for name in columns} for row in self._of(uid, fact))

    def _of(self, uid: str, fact: str) -> list[Mapping[str, Any]]:
        return [row for row in self.rows if row["operator"] == uid and fact in row]


@dataclass(slots=True)
class FlinkRestore:
    """Local clusters, one per release of Flink: started when asked, stopped at the end.

    Attributes:
        folder: For classes, logs and what the clusters need.
    """

    folder: Path
    _processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    _open: ExitStack = field(default_factory=ExitStack)

    def __call__(
        self,
        savepoint: str | Path | None,
        *operators: Operator,
        flink: str = RELEASES[-1],
        backend: str = "hashmap",
        parallelism: int = 3,
        ends: bool = False,
        watermark: int | None = None,
        awaits: int = 0,
        resave: Path | None = None,
        resave_format: str = "canonical",
        config: Mapping[str, str] | None = None,
    ) -> Restored:
        """Restores a savepoint and shows what is in the operators.

        Args:
            savepoint: The folder of ``_metadata``; None for a job that starts without state.
            operators: Others of the savepoint are left out.
            flink: Which release.
            backend: ``hashmap`` or ``rocksdb``.
            parallelism: Of the operators, at most ``SLOTS``.
            ends: Whether the watermark goes to its end, so that event time timers and windows fire.
            watermark: The event time from the beginning, in ms; none by default.
            awaits: How many rows Flink shows before it takes its savepoint.
            resave: A folder for a savepoint that Flink takes of the restored job.
            resave_format: ``canonical`` or ``native``.
            config: More of Flink's configuration.

        Raises:
            RestoreError: Flink does not restore it.
        """
        settings = {"parallelism.default": str(parallelism), "state.backend.type": backend}
        answer = self._answer(
            flink,
            {
                "savepoint": None if savepoint is None else Path(savepoint).absolute().as_uri(),
                "ends": ends,
                "watermark": watermark,
                "awaits": awaits,
                "resave": None if resave is None else resave.absolute().as_uri(),
                "format": resave_format,
                "configuration": settings | dict(config or {}),
                "operators": [operator.as_request() for operator in operators],
            },
        )
        saved = answer["savepoint"]
        return Restored(
            {operator.uid: operator for operator in operators},
            answer["rows"],
            None if saved is None else saved.removeprefix("file:"),
        )

    def close(self) -> None:
        """Ends the processes, which do so by themselves when nobody asks any more."""
        for process in self._processes.values():
            assert process.stdin is not None
            process.stdin.close()
        self._open.close()

    def _answer(self, flink: str, request: Mapping[str, Any]) -> dict[str, Any]:
        if flink not in self._processes:
            self._processes[flink] = self._start(flink)
        process = self._processes[flink]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise RestoreError(self._log(flink).read_text(encoding="utf-8"))
        answer = json.loads(line)
        if "error" in answer:
            raise RestoreError(answer["error"])
        return dict(answer)

    def _start(self, flink: str) -> subprocess.Popen[str]:
        home, inbox = FlinkHome.cached(flink), self.folder / "inbox"
        inbox.mkdir(exist_ok=True)
        home.install()
        classes = home.compiled([SAMPLES / "job", RESTORE_JOB])
        java = home.java(classes, ["-Xmx1g", "-Duser.timezone=UTC"])
        log = self._open.enter_context(self._log(flink).open("w", encoding="utf-8"))
        process = subprocess.Popen(
            [*java, "restore.RestoreServer", str(SLOTS), str(inbox)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            encoding="utf-8",
        )
        return self._open.enter_context(process)

    def _log(self, flink: str) -> Path:
        return self.folder / f"{flink}.log"
