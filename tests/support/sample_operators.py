"""The operators of the samples' jobs, as the job that restores has to declare them."""

from __future__ import annotations

from support.flink_restore import Elements, KeyedState, Operator, TimerService, TimeWindows

CENTURY_MS = 36_500 * 24 * 3_600_000
HOUR_MS = 3_600_000

SUMMARIZE = Operator(
    "summarize",
    key="INT",
    states=(KeyedState.value("total", "DOUBLE"), KeyedState.value("count", "INT")),
)
CURRENCY_CONVERTER = Operator(
    "currency_converter", elements=(Elements("rates", "broadcast", ("INT", "DOUBLE")),)
)

STATEFUL = Operator(
    "stateful",
    key="STRING",
    states=(
        KeyedState.value("last_id", "LONG"),
        KeyedState.list("memos", "STRING"),
        KeyedState.map("by_currency", "STRING", "LONG"),
        KeyedState.map("changes", "STRING", "NULLABLE<LONG>"),
        KeyedState.map("memo_by_currency", "STRING", "STRING"),
        KeyedState.reducing("cents_sum", "LONG"),
        KeyedState.aggregating("average", "TUPLE<LONG, LONG>"),
        KeyedState.value("customer", "POJO<shop.Customer>"),
        KeyedState.value("balance", "BIG_DEC"),
        KeyedState.value("last_seen", "INSTANT"),
        KeyedState.value("last_day", "LOCAL_DATE"),
        KeyedState.value("last_kind", "ENUM<shop.TransactionKind>"),
        KeyedState.value("reminders", "LONG"),
        KeyedState.value("recent_memo", "STRING").with_ttl(CENTURY_MS),
        KeyedState.list("recent_memos", "STRING").with_ttl(CENTURY_MS),
        KeyedState.map("recent_by_currency", "STRING", "LONG").with_ttl(CENTURY_MS),
    ),
    timers=(TimerService(),),
)
BUFFER = Operator(
    "buffer",
    elements=(
        Elements("elements", "list", ("STRING",)),
        Elements("offsets", "union", ("TUPLE<STRING, LONG>",)),
    ),
)

ENTRY = "TUPLE<STRING, INT, INT, LONG>"
WINDOW_TIMERS = (TimerService("window-timers", "TIME_WINDOW"),)

TUMBLING = Operator(
    "tumbling",
    key="INT",
    states=(KeyedState.reducing("window-contents", ENTRY).under("TIME_WINDOW"),),
    timers=WINDOW_TIMERS,
    windows=TimeWindows("tumbling", HOUR_MS, "reduce", ENTRY),
)
TUMBLING_AGGREGATE = Operator(
    "tumbling_aggregate",
    key="STRING",
    states=(KeyedState.aggregating("window-contents", "TUPLE<LONG, LONG>").under("TIME_WINDOW"),),
    timers=WINDOW_TIMERS,
    windows=TimeWindows("tumbling", HOUR_MS, "aggregate", "TUPLE<LONG, LONG>"),
)
SESSION = Operator(
    "session",
    key="STRING",
    states=(
        KeyedState.list("window-contents", ENTRY).under("TIME_WINDOW"),
        KeyedState.list("merging-window-set", "TUPLE<TIME_WINDOW, TIME_WINDOW>"),
    ),
    timers=WINDOW_TIMERS,
    windows=TimeWindows("session", HOUR_MS // 2, "process", ENTRY),
)
COUNT_WINDOW = Operator(
    "count_window",
    key="TUPLE<INT, INT>",
    states=(
        KeyedState.reducing("window-contents", ENTRY).under("GLOBAL_WINDOW"),
        KeyedState.reducing("count", "LONG").under("GLOBAL_WINDOW"),
    ),
)
WINDOWS = (TUMBLING, TUMBLING_AGGREGATE, SESSION, COUNT_WINDOW)

GROUP_AGGREGATE = Operator(
    "4_group-aggregate",
    key="ROW_DATA<ROW<f0 STRING NOT NULL>>",
    states=(
        KeyedState.value(
            "accState",
            "ROW_DATA<ROW<f0 BIGINT, f1 DECIMAL(38, 2), f2 BIGINT, f3 BIGINT, f4 STRING>>",
        ),
    ),
)
WINDOW_AGGREGATE = Operator(
    "8_window-aggregate",
    key="ROW_DATA<ROW<f0 INT NOT NULL>>",
    states=(
        KeyedState.value("window-aggs", "ROW_DATA<ROW<f0 BIGINT, f1 DECIMAL(38, 2)>>").under(
            "LONG"
        ),
    ),
    timers=(TimerService("window-timers", "LONG"),),
    elements=(Elements("watermark", "union", ("LONG",)),),
)
DEDUPLICATE = Operator(
    "13_deduplicate",
    key="ROW_DATA<ROW<f0 INT NOT NULL>>",
    states=(
        KeyedState.value(
            "deduplicate-state",
            "ROW_DATA<ROW<f0 BIGINT NOT NULL, f1 INT NOT NULL, f2 STRING, f3 TIMESTAMP_LTZ(3)>>",
        ),
    ),
)
