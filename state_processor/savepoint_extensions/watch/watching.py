"""Follows the checkpoints of a job: what each has that the one before had not."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from savepoint_extensions.watch.checkpoint_measures import CheckpointMemory, Measures
from savepoint_extensions.watch.growth import Series
from savepoint_extensions.watch.remembered_sizes import read_sizes, write_sizes
from savepoint_extensions.watch.retained_checkpoints import Place
from savepoint_extensions.watch.shown_times import time_text
from savepoint_extensions.watch.spans import AFTER, OVER, Span
from savepoint_extensions.watch.watch_round import WatchRound
from savepoint_formats.errors import AmbiguousJobError, SavepointError, SavepointNotFoundError
from savepoint_formats.savepoint_warnings import UnknownUidWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_database.snapshot import Snapshot
    from savepoint_extensions.watch.watch_round import WatchedState
    from savepoint_formats.locations import PathText

_MOST_SERIES = 10_000
_PATIENCE, _PAUSE = 8.0, 0.5
"""Seconds: what a cluster says may be three seconds old, and its job deletes checkpoints meanwhile."""

_LARGEST_SKEW = 60.0
"""Seconds by which the clocks of machines may differ."""

_NOTHING = Measures(0, 0, 0, 0, (), (), (), 0, False, ())


@dataclass(slots=True)
class _Looked:
    """What a round has seen: problems by path, numbers of checkpoints, and bytes that were read."""

    problems: dict[str, list[str]] = field(default_factory=dict)
    measured: list[int] = field(default_factory=list)
    read_size: int = 0


@dataclass(slots=True)
class Watch:
    """Watches the checkpoints of a job; made by ``watch``.

    A round reads what is new since the last. What is remembered does not grow with the number of rounds.

    Attributes:
        name: Directory of the checkpoints, or address of the job.
        over: Window of the line through the sizes of a state.
        after: Time in which the job fills its state; the window begins behind it.
    """

    name: str
    search: Callable[[], Iterable[Place]]
    opened: Callable[[str], Snapshot]
    memory: CheckpointMemory
    over: Span = OVER
    after: Span = AFTER
    _series: dict[tuple[str, str], Series] = field(default_factory=dict)
    _newest: Place | None = None
    _seen_at: float = 0.0
    _measures: Measures = _NOTHING
    _growing: tuple[WatchedState, ...] = ()
    _intact: Place | None = None
    _left: dict[str, Place] = field(default_factory=dict)
    _listed: dict[str, Place] = field(default_factory=dict)

    def round(self) -> WatchRound:
        """Measures the checkpoints that are new, the oldest first, and answers about the newest.

        A checkpoint that its job deletes meanwhile is passed over.

        Raises:
            SavepointNotFoundError: There is no such directory, or nothing in it was ever a checkpoint.
            UnreachableError: Its file system, or the cluster, refuses or does not answer.
            AmbiguousJobError: Two jobs make checkpoints in the directory at the same time.
        """
        begin = time.monotonic()
        looked = _Looked()
        while self._look(looked) and time.monotonic() < begin + _PATIENCE:
            time.sleep(_PAUSE)
        if self._newest is None and not looked.problems:
            raise SavepointNotFoundError(
                f"{self.name} has no completed checkpoint that stays, expected the directory of a job"
                " with chk-1, chk-2…"
            )
        return self._answer(looked, time.monotonic() - begin)

    def _look(self, looked: _Looked) -> bool:
        """Measures what is new; whether all of it was deleted meanwhile, so that there is newer."""
        places = self._new_places()
        is_seen = not places
        for place in places:
            try:
                snapshot = self._open(place)
                measures = self.memory.measured(snapshot, round(place.seconds * 1000))
            except SavepointNotFoundError:
                continue
            except SavepointError as error:
                looked.problems[place.path] = [str(error)]
                is_seen = True
                continue
            if measures.problems and snapshot.directory.is_deleted:
                continue
            looked.problems[place.path] = list(measures.problems)
            looked.measured.append(place.id)
            looked.read_size += measures.read_size
            self._take(place, measures)
            is_seen = True
        return not is_seen

    def load(self, file: PathText) -> None:
        """Takes the sizes of earlier checkpoints from a file of ``save``; nothing if there is no file.

        Raises ``DescriptionError`` if the file is something else.
        """
        self._series = read_sizes(file)

    def save(self, file: PathText) -> None:
        """Writes the sizes of all checkpoints so far into a file, in one step."""
        write_sizes(file, self._series)

    def rounds(self, every: float = 60.0) -> Iterator[WatchRound]:
        """Rounds without end, a number of seconds apart; what fails becomes a problem of its round.

        Raises ``AmbiguousJobError`` if two jobs make checkpoints in the directory at the same time.

        Example:
            >>> for round in watch("s3://jobs/checkpoints/1a2b").rounds(every=60):
            ...     print(round.size)
        """
        while True:
            try:
                answer = self.round()
            except AmbiguousJobError:
                raise
            except SavepointError as error:
                answer = self._answer(_Looked({self.name: [str(error)]}), 0.0)
            yield answer
            time.sleep(every)

    def _new_places(self) -> list[Place]:
        listed = self._dated(self.search())
        places, newest = listed, self._newest
        if newest is not None:
            places = [
                # A clock that was ahead says nothing about what was written after.
                place
                if newest.future is not None
                else replace(place, seconds=max(place.seconds, newest.seconds))
                for place in listed
                if self._is_new(place, newest)
            ]
        self._listed = {place.path: place for place in listed}
        path = [*([self._newest] if self._newest else []), *places]
        for before, after in pairwise(place for place in path if place.future is None):
            if before.job != after.job:
                self._left[before.job] = before
                if after.job in self._left:
                    raise AmbiguousJobError(
                        f"{self.name}: two jobs make checkpoints there, in {before.job} and in"
                        f" {after.job}: name the directory of one of them"
                    )
        return places

    def _dated(self, places: Iterable[Place]) -> list[Place]:
        """Checkpoints in their order; one from the future was made before it was first seen.

        It was also made before those with higher numbers.
        """
        now, listed = time.time(), list[Place]()
        places = [self._known(place) for place in places]
        right = [it for it in places if it.future is None and it.seconds <= now + _LARGEST_SKEW]
        for place in places:
            if place.future is None and place.seconds > now + _LARGEST_SKEW:
                latest = min([now, *(it.seconds for it in right if it.id > place.id)])
                listed.append(replace(place, seconds=latest, future=place.seconds))
            else:
                listed.append(place)
        return sorted(listed)

    def _known(self, place: Place) -> Place:
        """The place as it was listed before, if its time was in the future then."""
        known = self._listed.get(place.path)
        return known if known is not None and known.future == place.seconds else place

    def _is_new(self, place: Place, newest: Place) -> bool:
        """Whether it is newer than the newest one, as far as times tell, or a successor.

        One that has just appeared under a higher number is newer, too: its job may run where the clock
        is behind.
        """
        if place.path in self._listed:
            return place > newest and (place.future is None or newest.future is not None)
        is_successor = place.job == newest.job and place.id > newest.id
        return place > newest or is_successor or newest.future is not None

    def _open(self, place: Place) -> Snapshot:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownUidWarning)
            return self.opened(place.path)

    def _take(self, place: Place, measures: Measures) -> None:
        self._newest, self._measures, self._seen_at = place, measures, time.monotonic()
        if measures.is_intact:
            self._intact = place
        seen, states = dict[tuple[str, str], Series](), list["WatchedState"]()
        for state in measures.states:
            key = (state.operator, state.state)
            series = seen[key] = self._series.get(key) or Series()
            if place.future is None:
                series.add(place.seconds, state.size)
            growth = series.growth(self.over, self.after)
            states.append(
                replace(
                    state,
                    growth_per_day=growth.per_day,
                    steady_growth_per_day=growth.steady_per_day,
                    missing=growth.missing,
                )
            )
        self._growing = tuple(states)
        # A state that could not be read once keeps its history.
        if measures.problems and len(self._series) < _MOST_SERIES:
            seen = {**self._series, **seen}
        self._series = seen

    def _age_of(self, place: Place) -> float:
        """Seconds since a checkpoint was written, at least since it was seen if a clock is ahead."""
        return max(time.time() - place.seconds, time.monotonic() - self._seen_at)

    def _answer(self, looked: _Looked, seconds: float) -> WatchRound:
        newest, intact, measures = self._newest, self._intact, self._measures
        problems = looked.problems
        if newest is not None:  # its own stay until there is a newer one
            own = [*measures.problems, *_of_clock(newest)]
            others = {path: it for path, it in problems.items() if path != newest.path}
            problems = {newest.path: own, **others}
            if intact is not None and intact.path != newest.path:
                problems[intact.path] = [*others.get(intact.path, ()), *_of_clock(intact)]
        return WatchRound(
            "" if newest is None else newest.path,
            None if newest is None else newest.id,
            _time_text(newest),
            None if newest is None else self._age_of(newest),
            "" if newest is None else newest.job,
            measures.size,
            measures.new_size,
            measures.metadata_size,
            measures.in_flight_size,
            None if intact is None else intact.id,
            _time_text(intact),
            self._growing,
            measures.operators,
            measures.keys,
            tuple(looked.measured),
            looked.read_size,
            seconds,
            tuple(f"{path}: {it}" for path, own in problems.items() for it in own),
        )


def _of_clock(place: Place) -> Iterator[str]:
    """What is wrong with the time of a checkpoint."""
    if place.future is not None:
        yield (
            f"its _metadata is of {time_text(place.future)}, which was in the future when it was first"
            f" seen: a clock is wrong, its age is counted from {time_text(place.seconds)}, and its sizes"
            " don't count for the growth"
        )


def _time_text(place: Place | None) -> str | None:
    return None if place is None else time_text(place.seconds)
