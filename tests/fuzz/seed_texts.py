"""Texts as users give them, all of them right."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from support import serializer_snapshots

DESCRIPTIONS = (
    """\
uid: totals
max_parallelism: 16
parallelism: 2
base: old
keyed_state:
  key: [account, day]
  key_type: TUPLE<LONG, INT>
  states:
    - {name: total, kind: value, type: DOUBLE, column: sum, ttl: true, last_access: seen}
    - {name: parts, kind: list, type: "LIST<TUPLE<STRING, BIG_DEC>>", merge: concat}
    - {name: rates, kind: map, type: "MAP<STRING, ROW<a INT, b LIST<LONG>>>"}
  window: {column: window, is_merging: true, allowed_lateness_ms: 60000}
""",
    """\
uid: 'f1a2'
operator_state:
  - {name: offsets, kind: union, type: LONG, column: offset}
  - name: rates
    kind: broadcast
    type: MAP<INT, DOUBLE>
    key: currency
    value: rate
""",
    """\
uid: expired
keyed_state:
  key: account
  key_type: LONG
  timers:
    - {time_domain: event, column: expires_at, is_list: true, service: user-timers}
""",
    "uid: a\nlike: {savepoint: path, operator: b, state: rates}\n",
    "a: &x [*x, !!binary aGk=, 2024-01-01, 0x1f, ~]\n? {b: c}\n: |\n  text\n--- \n...\n",
)


CLASSES = """\
- class: shop.Parcel
  fields: {id: long, content: java.lang.String, marks: "java.util.List<java.lang.String>"}
  final: true
  pojo: false
- {class: shop.BigItem, fields: {names: "java.lang.String[][]"}, pojo: true, extends: shop.Item}
- class: shop.Colour
  constants: [RED, GREEN]
"""

RULES = """\
rules:
- {name: zip, method: digits}
- {operator: "ord*", state: [note, memo], method: fixed, value: gone}
- {type: text, method: keep}
- {type: date, method: shift, by: 3d}
"""

JSONS = {
    "found": json.dumps(
        {
            "values": ["a"],
            "contains": True,
            "snapshots": [
                {
                    "path": "p",
                    "checkpoint_id": 1,
                    "entries": 1,
                    "files": {"a": "00"},
                    "problems": ["x"],
                }
            ],
            "places": [{"snapshot": "p", "operator": "o", "state": "s", "field": "f", "key": "1"}],
        }
    ),
    "kubernetes": json.dumps(
        {
            "kind": "List",
            "items": [
                {
                    "kind": "FlinkStateSnapshot",
                    "metadata": {"name": "a"},
                    "spec": {"jobReference": {"kind": "FlinkDeployment", "name": "job"}},
                    "status": {"state": state, "path": "s3://a", "resultTimestamp": "2024"},
                }
                for state in ("COMPLETED", "FAILED")
            ],
        }
    ),
    "key types": json.dumps(
        {"a": "LONG", "b": {"serializer": serializer_snapshots.DATA["tuple"].hex()}}
    ),
    "classes": json.dumps(
        [
            {"class": "a.B", "fields": {"x": "java.util.Map<int[], a.C>"}, "final": True},
            {"class": "a.C", "constants": ["X"]},
            {"class": "a.D", "fields": {"y": "long"}, "pojo": True, "extends": "a.E"},
        ]
    ),
}

TYPES = {
    "plain": (
        "MAP<STRING, ROW<a INT, b LIST<LONG>>>",
        "TUPLE<POJO<a.b.Order, id LONG, `odd name` SET<BIG_DEC>>, ENUM<a.Color, RED, GREEN>>",
        "ROW_DATA<a DECIMAL(10, 2) NOT NULL, b ROW<`c` TIMESTAMP(3), `d` ARRAY<VARCHAR(10)>>>",
        "OBJECT_ARRAY<NULLABLE<EITHER<INT, PRIMITIVE_ARRAY<BYTE>>>, a.b.Order>",
    ),
    "python": (
        "Types.ROW_NAMED(['a', 'b'], [Types.LONG(), Types.LIST(Types.STRING())])",
        "MapState(Types.TUPLE([Types.INT(), Types.SQL_DATE()]), Types.PICKLED_BYTE_ARRAY())",
        "ListState(Types.MAP(Types.STRING(), Types.PRIMITIVE_ARRAY(Types.BYTE())))",
    ),
}

JOB = """\
KEY = Types.LONG()
class Total(KeyedProcessFunction):
    def open(self, context):
        state = ValueStateDescriptor("total", Types.LIST(KEY))
        self.total = context.get_state(state)
        self.seen = context.get_map_state(MapStateDescriptor("seen", KEY, Types.STRING()))
env.from_collection([]).key_by(lambda row: row[0], KEY).process(Total()).uid("totals")
"""

CONDITIONS = (
    "key > 1 AND name LIKE 'a%'",
    "customer.city = 'x' OR total IS NULL",
    "abs(total - 1.5) < 1e-3 AND length(name) BETWEEN 1 AND 3",
    "key IN (1, 2, 3) AND CASE WHEN name IS NULL THEN true ELSE name::VARCHAR <> '' END",
    "COLUMNS('k.*') > 1",
)

KEYS: dict[pa.DataType, tuple[str, ...]] = {
    pa.int64(): ("17",),
    pa.decimal128(20, 2): ("1.50",),
    pa.binary(): ("00ff",),
    pa.timestamp("us", "UTC"): ("2024-01-02 03:04:05Z",),
    pa.date32(): ("2024-01-02",),
    pa.struct({"a": pa.int64(), "b": pa.list_(pa.utf8())}): ('{"a": 1, "b": ["x", null]}',),
}

QUERIES = (
    "SELECT key, total, count FROM summarize.keyed_state ORDER BY total DESC LIMIT 5",
    'SELECT count(*) AS n FROM "summarize"."keyed_state" AS s WHERE s.key IN (1, 2) -- all',
    """WITH t AS (SELECT key % 3 AS k, avg(total) AS a FROM `summarize`.keyed_state GROUP BY ALL)
    SELECT * FROM t JOIN t AS u USING (k) WHERE t.a > 1 /* odd */""",
    "SHOW TABLES",
    "DESCRIBE summarize.keyed_state",
    "EXPLAIN SELECT key FROM summarize.keyed_state WHERE key = 3",
    "FROM currency_converter.rates SELECT key, value WHERE value > 1.0",
)


def _node(number: int, kind: str, output: str = "ROW<`k` BIGINT, `v` INT>", **more: Any) -> Any:
    return {
        "id": number,
        "type": f"stream-exec-{kind}_1",
        "outputType": output,
        "description": f"{kind}(select=[k, v])",
        "inputProperties": [{"requiredDistribution": {"type": "HASH", "keys": [0]}}],
        **more,
    }


def _table(name: str) -> dict[str, Any]:
    columns = [{"name": "k", "dataType": "BIGINT"}, {"name": "v", "dataType": "INT"}]
    return {
        "table": {
            "identifier": f"`c`.`d`.`{name}`",
            "resolvedTable": {"schema": {"columns": columns}, "partitionKeys": []},
        }
    }


def _state(*names: str) -> list[dict[str, Any]]:
    return [{"index": index, "ttl": "1 d", "name": name} for index, name in enumerate(names)]


def _column(number: int, kind: str = "BIGINT") -> dict[str, Any]:
    return {"kind": "INPUT_REF", "inputIndex": number, "type": kind}


_CALLS = [
    {"name": "n", "internalName": "$COUNT$1", "argList": [], "filterArg": -1, "type": "BIGINT"},
    {"name": "s", "internalName": "$SUM$1", "argList": [1], "filterArg": -1, "type": "INT"},
    {
        "name": "m",
        "internalName": "$MAX$1",
        "argList": [1],
        "filterArg": -1,
        "distinct": True,
        "type": "INT",
    },
]
_JOIN = {"joinType": "INNER", "leftKeys": [0], "rightKeys": [0], "filterNulls": [True]}
_NODES = (
    _node(1, "table-source-scan", scanTableSource=_table("s")),
    _node(2, "table-source-scan", scanTableSource=_table("r")),
    _node(
        3,
        "calc",
        projection=[
            _column(0),
            {
                "kind": "CALL",
                "internalName": "$+$1",
                "operands": [_column(1), {"kind": "LITERAL", "value": 1, "type": "INT"}],
                "type": "INT",
            },
        ],
        condition=None,
    ),
    _node(
        4,
        "group-aggregate",
        "ROW<`k` BIGINT, `n` BIGINT, `s` INT, `m` INT>",
        grouping=[0],
        aggCalls=_CALLS,
        aggCallNeedRetractions=[False] * 3,
        configuration={"table.exec.uid.format": "<id>_<transformation>"},
        state=_state("groupAggregateState"),
    ),
    _node(
        5,
        "join",
        "ROW<`k` BIGINT, `n` BIGINT, `s` INT, `m` INT, `k0` BIGINT, `v` INT>",
        joinSpec=_JOIN,
        leftUpsertKeys=[[0]],
        state=_state("leftState", "rightState"),
    ),
    _node(
        6,
        "window-aggregate",
        grouping=[0],
        aggCalls=_CALLS[:2],
        windowing={"window": {"type": "TumblingWindow", "size": "PT1H"}, "timeAttribute": 1},
        state=_state("window-aggs"),
    ),
    _node(7, "deduplicate", uniqueKeys=[0], isRowtime=True, state=_state("deduplicate-state")),
    _node(
        8,
        "rank",
        rankType="ROW_NUMBER",
        partition={"fields": [0]},
        orderBy={"fields": [{"index": 1, "isAscending": True, "nullIsLast": False}]},
        rankRange={"type": "Constant", "start": 1, "end": 5},
        rankStrategy={"type": "Retract"},
        state=_state("rankState"),
    ),
    _node(
        9,
        "over-aggregate",
        overSpec={"partition": {"fields": [0]}, "groups": [{"aggCalls": _CALLS}]},
    ),
    _node(10, "changelog-normalize", uniqueKeys=[0], state=_state("deduplicate-state")),
    _node(
        11,
        "interval-join",
        intervalJoinSpec={"joinSpec": _JOIN, "windowBounds": {"isEventTime": True}},
    ),
    _node(
        12,
        "window-table-function",
        windowing={"window": {"type": "SessionWindow", "gap": "PT1H"}, "timeAttribute": 1},
    ),
    _node(13, "match", matchSpec={"partition": {"fields": [0]}, "pattern": {}}),
    _node(14, "union"),
    _node(
        15,
        "sink",
        dynamicTableSink=_table("t"),
        inputUpsertKey=[0],
        requireUpsertMaterialize=True,
        state=_state("sinkMaterializeState"),
    ),
)
_EDGES = (
    *((1, 3), (3, 4), (4, 5), (2, 5), (1, 6), (1, 7), (2, 8), (2, 9), (1, 10), (1, 11), (2, 11)),
    *((1, 12), (2, 13), (5, 14), (6, 14), (7, 14), (8, 14), (9, 14), (10, 14), (11, 14)),
    *((12, 14), (13, 14), (14, 15)),
)

PLAN = json.dumps(
    {
        "flinkVersion": "2.2",
        "nodes": _NODES,
        "edges": [
            {"source": source, "target": target, "shuffle": {"type": "FORWARD"}}
            for source, target in _EDGES
        ],
    }
)
"""A plan with a node of each kind that has state of its own form."""
