"""The source of keyed state that a function can change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_database.types import Types
from savepoint_functions.functions.backends.namespaces import expect_namespaces
from savepoint_functions.functions.backends.timers import InternalTimerService, timer_states
from savepoint_spark.reading import (
    AggregatingState,
    ListState,
    MapState,
    ReducingState,
    RuntimeContext,
    ValueState,
)

if TYPE_CHECKING:
    from savepoint_database.types import (
        AggregatingStateDescriptor,
        ListStateDescriptor,
        MapStateDescriptor,
        ReducingStateDescriptor,
        StateDescriptor,
        TypeInformation,
        ValueStateDescriptor,
    )
    from savepoint_functions.functions.backends import KeyedStateBackend
    from savepoint_spark.reading import AnyState


WINDOW_TIMERS = "window-timers"
"""The timer service of Flink's window operator."""


class KeyedRuntimeContext(RuntimeContext):
    """Gives a function states that it can change, in ``open`` and nowhere else.

    A descriptor needs the types of the state. The descriptor of a reducing or aggregating state
    also needs the function that adds to it. With a type of namespaces, a state has contents for
    each namespace, and the function chooses one by ``set_current_namespace``.
    """

    def __init__(self, backend: KeyedStateBackend) -> None:
        super().__init__("the function's operator", ())
        self._backend = backend
        self._namespaces: dict[str, TypeInformation | None] = {}

    @property
    def namespaces(self) -> dict[str, TypeInformation | None]:
        """The type of the namespaces of each registered state; timers included."""
        return self._namespaces

    def get_state(
        self, descriptor: ValueStateDescriptor, namespace: TypeInformation | None = None
    ) -> ValueState:
        """A value state.

        Args:
            descriptor: Its name and type.
            namespace: The type of its namespaces, if it has any.

        Example:
            >>> opened = ValueStateDescriptor("opened", Types.LONG())
            >>> self.opened = runtime_context.get_state(opened, namespace=Types.TIME_WINDOW())
            >>> self.opened.set_current_namespace(TimeWindow(0, 60_000))  # in process_element
        """
        return self._state(descriptor, ValueState, namespace)

    def get_list_state(
        self, descriptor: ListStateDescriptor, namespace: TypeInformation | None = None
    ) -> ListState:
        """A list state; see ``get_state``."""
        return self._state(descriptor, ListState, namespace)

    def get_map_state(
        self, descriptor: MapStateDescriptor, namespace: TypeInformation | None = None
    ) -> MapState:
        """A map state; see ``get_state``."""
        return self._state(descriptor, MapState, namespace)

    def get_reducing_state(
        self, descriptor: ReducingStateDescriptor, namespace: TypeInformation | None = None
    ) -> ReducingState:
        """A reducing state; see ``get_state``."""
        return self._state(descriptor, ReducingState, namespace)

    def get_aggregating_state(
        self, descriptor: AggregatingStateDescriptor, namespace: TypeInformation | None = None
    ) -> AggregatingState:
        """An aggregating state; see ``get_state``."""
        return self._state(descriptor, AggregatingState, namespace)

    def get_internal_timer_service(
        self, name: str = WINDOW_TIMERS, namespace: TypeInformation | None = None
    ) -> InternalTimerService:
        """Timers in namespaces, by default in windows, which become timers of the savepoint.

        Flink's window operator fires a window, and removes its state, only by these timers: a
        window without a timer stays for ever. Only ``transform`` has them, because nothing fires
        them here.

        Args:
            name: The name of the service; that of Flink's window operator by default.
            namespace: The type of the namespaces; ``Types.TIME_WINDOW()`` by default.

        Raises:
            ValueError: The service has namespaces of another type already, or this type has only
                one value.

        Example:
            >>> self.timers = runtime_context.get_internal_timer_service()
            >>> window = TimeWindow(0, 60_000)  # in process_element
            >>> self.timers.register_event_time_timer(window, window.max_timestamp())
        """
        type_information = namespace or Types.TIME_WINDOW()
        expect_namespaces(name, type_information)
        service = InternalTimerService(self._backend, name, type_information.layout)
        self._namespaces.update(dict.fromkeys(timer_states(name).values(), type_information))
        return service

    def _state(
        self,
        descriptor: StateDescriptor,
        kind: type[AnyState],
        namespace: TypeInformation | None = None,
    ) -> AnyState:
        """The state. Raises ``ValueError`` as ``KeyedStateBackend.state`` does."""
        if namespace is not None:
            expect_namespaces(descriptor.name, namespace)
        layout = None if namespace is None else namespace.layout
        state = self._backend.state(descriptor, layout)
        if not isinstance(state, kind):
            raise TypeError(
                f"a {type(descriptor).__name__} is no descriptor of a {kind.__name__}:"
                f" state {descriptor.name!r}"
            )
        self._registered[descriptor.name] = state
        self._namespaces[descriptor.name] = namespace
        return state
