"""Functions of users that make state and rows: contexts, options, and the loop over keyed rows."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_functions.functions.backends import (
        KeyedStateBackend,
        TimerService,
        processing_time,
    )
    from savepoint_functions.functions.backends.backend import Clock as Clock
    from savepoint_functions.functions.backends.in_memory import (
        HeldListState,
        HeldMapState,
        HeldState,
        HeldT,
        HeldValueState,
        SingleKeyBackend,
    )
    from savepoint_functions.functions.backends.namespaces import plain
    from savepoint_functions.functions.backends.timers import (
        EVENT_TIME,
        MAX_WATERMARK,
        MIN_WATERMARK,
        PROCESSING_TIME,
        TIMER_STATE_PREFIX,
        timer_states,
    )
    from savepoint_functions.functions.backends.value_codec import ValueCodec
    from savepoint_functions.functions.backends.wrapping_states import pairs
    from savepoint_functions.functions.broadcast_functions import (
        BroadcastProcessFunction,
        KeyedBroadcastProcessFunction,
    )
    from savepoint_functions.functions.broadcast_run import BroadcastResult
    from savepoint_functions.functions.execution_options import BACKLOG_INTERVAL, ExecutionOptions
    from savepoint_functions.functions.function_calls import FunctionCalls
    from savepoint_functions.functions.function_plan import FunctionPlan
    from savepoint_functions.functions.function_task import FunctionTask, KeyLoop
    from savepoint_functions.functions.keyed_runtime_context import KeyedRuntimeContext
    from savepoint_functions.functions.outputs import (
        OUTPUT,
        Outputs,
        OutputTag,
        expect_one_output,
        in_column,
        rows_in,
    )
    from savepoint_functions.functions.process_functions import (
        BroadcastStateBootstrapFunction,
        KeyedContext,
        KeyedCoProcessFunction,
        KeyedFunction,
        KeyedProcessFunction,
        KeyedStateBootstrapFunction,
        RecordAttributes,
        StateBootstrapFunction,
    )
    from savepoint_functions.functions.result_table import (
        FunctionState,
        ResultState,
        ResultTable,
        state_ids,
    )
    from savepoint_functions.functions.rows_by_key import (
        KeyBatch,
        RowsOfKey,
        decoded_keys,
        input_tuples,
        key_starts,
        plain_list,
        python_keys,
    )
    from savepoint_functions.functions.sorted_inputs import (
        KEY,
        KEY_GROUP,
        TIMESTAMP,
        KeyedInput,
        KeyEncoding,
        milliseconds,
    )
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "BACKLOG_INTERVAL",
    "EVENT_TIME",
    "KEY",
    "KEY_GROUP",
    "MAX_WATERMARK",
    "MIN_WATERMARK",
    "OUTPUT",
    "PROCESSING_TIME",
    "TIMER_STATE_PREFIX",
    "TIMESTAMP",
    "BroadcastProcessFunction",
    "BroadcastResult",
    "BroadcastStateBootstrapFunction",
    "ExecutionOptions",
    "FunctionCalls",
    "FunctionPlan",
    "FunctionState",
    "FunctionTask",
    "HeldListState",
    "HeldMapState",
    "HeldState",
    "HeldT",
    "HeldValueState",
    "KeyBatch",
    "KeyEncoding",
    "KeyLoop",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedContext",
    "KeyedFunction",
    "KeyedInput",
    "KeyedProcessFunction",
    "KeyedRuntimeContext",
    "KeyedStateBackend",
    "KeyedStateBootstrapFunction",
    "OutputTag",
    "Outputs",
    "RecordAttributes",
    "ResultState",
    "ResultTable",
    "RowsOfKey",
    "SingleKeyBackend",
    "StateBootstrapFunction",
    "TimerService",
    "ValueCodec",
    "decoded_keys",
    "expect_one_output",
    "in_column",
    "input_tuples",
    "key_starts",
    "milliseconds",
    "pairs",
    "plain",
    "plain_list",
    "processing_time",
    "python_keys",
    "rows_in",
    "state_ids",
    "timer_states",
]
