"""The answers of a watch as metrics, which Prometheus fetches (OpenMetrics)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from savepoint_extensions.watch.shown_times import seconds_of
from savepoint_formats.extras import imported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_extensions.watch.watch_round import WatchRound

    Values = Iterable[tuple[tuple[str, ...], float | None]]


class Metric(NamedTuple):
    """A gauge: its labels, what it is, and its values in a round, each behind its labels."""

    labels: tuple[str, ...]
    help: str
    values: Callable[[WatchRound], Values]


def _single(value: Callable[[WatchRound], float | None]) -> Callable[[WatchRound], Values]:
    return lambda answer: [((), value(answer))]


def _states(name: str) -> Callable[[WatchRound], Values]:
    return lambda answer: [
        ((state.operator, state.state), getattr(state, name)) for state in answer.states
    ]


def _operators(name: str) -> Callable[[WatchRound], Values]:
    return lambda answer: [
        ((operator.operator,), getattr(operator, name)) for operator in answer.operators
    ]


def _largest(name: str) -> Callable[[WatchRound], Values]:
    def values(answer: WatchRound) -> Values:
        most: dict[str, float] = {}
        for key in answer.keys:
            most[key.operator] = max(most.get(key.operator, 0), getattr(key, name))
        return [((operator,), value) for operator, value in most.items()]

    return values


def _encodable(label: str) -> str:
    r"""The text, with ``\\ud800`` for half a surrogate pair, which Java's texts may have and UTF-8 has not."""
    return label.encode("utf-8", "backslashreplace").decode()


def _seconds(text: str | None) -> float | None:
    return None if text is None else seconds_of(text)


_OF_STATE = ("operator", "state")
_OF_OPERATOR = ("operator",)

METRICS = {
    "savepoint_checkpoint_id": Metric(
        (), "Number of the newest checkpoint.", _single(lambda it: it.id)
    ),
    "savepoint_checkpoint_timestamp_seconds": Metric(
        (), "When the newest checkpoint was completed.", _single(lambda it: _seconds(it.time))
    ),
    "savepoint_checkpoint_size_bytes": Metric(
        (), "All files of the newest checkpoint, each once.", _single(lambda it: it.size)
    ),
    "savepoint_checkpoint_new_bytes": Metric(
        (), "Its files that the checkpoint before did not have.", _single(lambda it: it.new_size)
    ),
    "savepoint_checkpoint_metadata_bytes": Metric(
        (), "Its _metadata file.", _single(lambda it: it.metadata_size)
    ),
    "savepoint_checkpoint_in_flight_bytes": Metric(
        (), "Records in flight in it.", _single(lambda it: it.in_flight_size)
    ),
    "savepoint_intact_checkpoint_timestamp_seconds": Metric(
        (),
        "When the newest checkpoint was completed whose files are all right.",
        _single(lambda it: _seconds(it.intact_time)),
    ),
    "savepoint_state_size_bytes": Metric(
        _OF_STATE, "Entries of a state, with their keys.", _states("size")
    ),
    "savepoint_state_entries": Metric(
        _OF_STATE, "Number of entries of a state.", _states("entries")
    ),
    "savepoint_state_size_error_ratio": Metric(
        _OF_STATE, "What the size may be off by, of the size.", _states("error")
    ),
    "savepoint_state_growth_bytes_per_day": Metric(
        _OF_STATE, "Slope of the line through its sizes.", _states("growth_per_day")
    ),
    "savepoint_state_steady_growth_bytes_per_day": Metric(
        _OF_STATE,
        "What a state grows by at least, if it grows steadily; otherwise 0.",
        _states("steady_growth_per_day"),
    ),
    "savepoint_state_expired_ratio": Metric(
        _OF_STATE, "Values past their time to live, of those with times.", _states("expired_share")
    ),
    "savepoint_state_overdue_timers": Metric(
        _OF_STATE, "Overdue timers of processing time.", _states("overdue")
    ),
    "savepoint_operator_size_bytes": Metric(
        _OF_OPERATOR, "All files of an operator.", _operators("size")
    ),
    "savepoint_operator_subtask_skew_ratio": Metric(
        _OF_OPERATOR, "Its fullest subtask, of the mean.", _operators("subtask_skew")
    ),
    "savepoint_operator_key_group_skew_ratio": Metric(
        _OF_OPERATOR, "Its fullest key group, of the mean.", _operators("key_group_skew")
    ),
    "savepoint_operator_largest_key_entries": Metric(
        _OF_OPERATOR, "Most entries of a key that was seen.", _largest("entries")
    ),
    "savepoint_operator_largest_key_bytes": Metric(
        _OF_OPERATOR, "Most bytes of a key that was seen.", _largest("size")
    ),
    "savepoint_watch_problems": Metric(
        (),
        "What could not be read in the newest checkpoint or the last round.",
        _single(lambda it: len(it.problems)),
    ),
    "savepoint_watch_round_seconds": Metric(
        (), "Time that the last round took.", _single(lambda it: it.seconds)
    ),
    "savepoint_watch_round_read_bytes": Metric(
        (), "Bytes that the last round read.", _single(lambda it: it.read_size)
    ),
}
"""Name -> metric; all are gauges. A value that is not known has no sample."""


@dataclass(slots=True, eq=False)
class Exporter:
    """Serves the newest answer at ``/metrics``."""

    answer: WatchRound | None = None
    _server: list[Any] = field(default_factory=list)

    def collect(self) -> Iterator[Any]:
        """The metrics of the newest answer, as ``prometheus_client`` asks for them."""
        families = imported("prometheus_client.core")
        answer = self.answer
        for name, metric in METRICS.items() if answer is not None else ():
            assert answer is not None
            family = families.GaugeMetricFamily(name, metric.help, labels=metric.labels)
            for labels, value in metric.values(answer):
                if value is not None:
                    family.add_metric([*map(_encodable, labels)], value)
            yield family

    def serve(self, host: str, port: int) -> int:
        """Serves in a thread of its own; returns the port, which the system chooses for 0.

        Raises:
            MissingPackageError: The extra ``watch`` is not installed.
            OSError: The port is taken.
        """
        client = imported("prometheus_client")
        registry = client.CollectorRegistry(auto_describe=False)
        registry.register(self)
        self._server = [*client.start_http_server(port, host, registry)]
        return int(self._server[0].server_port)

    def close(self) -> None:
        """Ends the server."""
        if self._server:
            server, thread = self._server
            server.shutdown()
            server.server_close()
            thread.join()
