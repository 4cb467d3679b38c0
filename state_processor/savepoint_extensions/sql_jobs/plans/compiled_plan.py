"""Compiled plans: the JSON of ``COMPILE PLAN`` and of Flink's restore tests.

| field              | meaning                                                                       |
|--------------------|-------------------------------------------------------------------------------|
| flinkVersion       | release whose planner wrote the plan, such as ``1.19``                        |
| nodes              | list of nodes                                                                 |
| nodes[].id         | number of the node, unique in the plan                                        |
| nodes[].type       | ``stream-exec-<kind>_<version>``                                              |
| nodes[].description| text of the query's operator                                                  |
| nodes[].outputType | type of the rows that it emits: a text, or an object where a text can't say it |
| nodes[].state      | list of its states: ``index``, ``name``, ``ttl``                              |
| edges              | list of ``source`` and ``target``, both ids; inputs of a node are in order    |

An operator's uid consists of its node and its name in the node, in the form of the option
``table.exec.uid.format``; Flink 1.16 and newer write ``<id>_<type>_<version>_<transformation>``, or
``<id>_<transformation>``.

Flink: ``CompiledPlanSerdeUtil``, ``ExecNodeContext.generateUid``, ``SinkTransformationTranslator``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from savepoint_extensions.sql_jobs.plans.plan_shape import misshapen
from savepoint_formats.errors import PlanError
from savepoint_formats.key_groups import OperatorId
from savepoint_formats.layout import LogicalType
from savepoint_formats.snapshots import parse_logical_type

_TYPE = re.compile(r"stream-exec-(.+)_(\d+)")
_FORMATS = ("<id>_<type>_<version>_<transformation>", "<id>_<transformation>")
_FORMAT_OPTION = "table.exec.uid.format"
_FIRST_WITH_SHORT_UIDS = (1, 19)
_SINK_UIDS = ("{}", "Sink Committer: {}", "Sink {} Global Committer")

_OF_USERS = "process-table-function"
"""Nodes that queries may give a uid."""

_TRANSFORMATIONS = {
    "table-source-scan": ("source",),
    "legacy-table-source-scan": ("source",),
    "sink": (
        "sink",
        "upsert-materialize",
        "constraint-validator",
        "partitioner",
        "timestamp-inserter",
        "row-kind-setter",
        "watermark-timestamp-assigner",
    ),
    "interval-join": (
        "interval-join",
        "filter-left",
        "filter-right",
        "pad-left",
        "pad-right",
    ),
    "lookup-join": (
        "lookup-join",
        "lookup-join-materialize",
        "lookup-join-key-ordered",
        "custom-shuffle",
        "partitioner",
    ),
    "process-table-function": ("process",),
    "match": ("match", "timestamp-inserter"),
    "window-table-function": ("window",),
    "limit": ("rank",),
    "sort-limit": ("rank",),
    "legacy-sink": ("watermark-timestamp-assigner", "sink"),
}
"""Kind of a node -> names of its operators, where they differ from the kind."""


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """A column of rows.

    Attributes:
        type: Its SQL type; None where the plan doesn't tell it in a form that is understood.
        origin: Equal for columns whose values are computed in the same way; see ``lineage``.
    """

    name: str
    type: LogicalType | None = None
    origin: Hashable = None

    @property
    def identity(self) -> Hashable:
        """Its origin, or its name where that is not known."""
        return self.origin or self.name

    @property
    def root(self) -> str:
        """The root of its type, empty if that is not known."""
        return "" if self.type is None else self.type.root


Row = tuple[NamedColumn, ...]


@dataclass(frozen=True, slots=True)
class PlannedState:
    """A state of a node: its place among them, and how long values live, such as ``1 d``."""

    index: int
    name: str
    ttl: str


@dataclass(frozen=True, slots=True)
class PlanNode:
    """A node of a plan.

    Attributes:
        kind: Its type without prefix and version, such as ``group-aggregate``.
        description: The operator as the query's explanation shows it.
        output: Columns that it emits; None if the type isn't understood.
        inputs: Ids of the nodes that it reads, in order.
        states: Its states, by their index; empty where the plan names none.
        spec: The node as the plan has it.
    """

    id: int
    kind: str
    version: int
    description: str
    output: Row | None
    inputs: tuple[int, ...]
    states: tuple[PlannedState, ...]
    spec: Mapping[str, Any]

    def at(self, *path: str) -> Any:
        """The value at a path of names in the node's JSON; None if there is none."""
        value: Any = self.spec
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def uid(self, flink_version: str, transformation: str) -> str:
        """The uid of an operator of this node, in a job of a release that runs the plan."""
        asked = self.at("configuration", _FORMAT_OPTION)
        if self.kind == _OF_USERS and self.at("uid"):
            return str(self.at("uid"))
        is_old = tuple(map(int, re.findall(r"\d+", flink_version)[:2])) < _FIRST_WITH_SHORT_UIDS
        return self._uid(asked or _FORMATS[0 if is_old else 1], transformation)

    def _uid(self, form: str, transformation: str) -> str:
        return (
            form.replace("<id>", str(self.id))
            .replace("<type>", self.kind)
            .replace("<version>", str(self.version))
            .replace("<transformation>", transformation)
        )

    def uids(self) -> tuple[str, ...]:
        """Uids that operators of this node may have."""
        return tuple(self._places())

    def uid_like(self, other: PlanNode, uid: str) -> str | None:
        """The uid of the operator with the same role for another node; None if there is none."""
        sink, form, number = other._places()[uid]
        own = {place: mine for mine, place in self._places().items()}
        return own.get((sink, self.at("configuration", _FORMAT_OPTION) or form, number))

    def _places(self) -> dict[str, tuple[str, str, int]]:
        """Uid -> its form for sinks, its form for all nodes, and the number of its operator in the node."""
        asked = self.at("configuration", _FORMAT_OPTION)
        formats = (asked,) if asked else _FORMATS
        if self.kind == _OF_USERS and self.at("uid"):
            return {str(self.at("uid")): ("{}", asked or "", 0)}
        sinks = _SINK_UIDS if self.kind == "sink" else ("{}",)
        names = _TRANSFORMATIONS.get(self.kind, (self.kind,))
        return {
            sink.format(self._uid(form, name)): (sink, form, number)
            for sink in sinks
            for form in formats
            for number, name in enumerate(names)
        }


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """A plan: its nodes by their ids, in the order of the file."""

    path: str
    flink_version: str
    nodes: Mapping[int, PlanNode]

    @classmethod
    def parse(cls, text: str, path: str) -> Self:
        """Parses the JSON of a plan; ``path`` names it in errors.

        Raises:
            PlanError: The text is no compiled plan.
        """
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise PlanError(f"{path} is not JSON: {error}") from error
        if not isinstance(content, Mapping) or not isinstance(content.get("nodes"), list):
            raise PlanError(
                f"{path} is not a compiled plan: it has no list of nodes. COMPILE PLAN writes one"
            )
        inputs = _inputs(content.get("edges"), path)
        nodes = [_node(node, inputs, path) for node in content["nodes"]]
        by_id = {node.id: node for node in nodes}
        if len(by_id) != len(nodes):
            raise PlanError(f"{path}: two nodes have the same id")
        if missing := {source for ids in inputs.values() for source in ids} - set(by_id):
            raise PlanError(f"{path}: edges name nodes that the plan lacks: {sorted(missing)}")
        return cls(path, str(content.get("flinkVersion", "")), by_id)

    def nodes_by_operator(self) -> dict[OperatorId, tuple[str, PlanNode]]:
        """Id of each operator that a job of the plan may have -> its uid and its node."""
        return {
            OperatorId.from_uid(uid): (uid, node)
            for node in self.nodes.values()
            for uid in node.uids()
        }

    def inputs(self, node: PlanNode) -> tuple[Row | None, ...]:
        """Columns of the rows of each input."""
        return tuple(self.nodes[source].output for source in node.inputs)

    def local_aggregation(self, node: PlanNode) -> PlanNode | None:
        """The local aggregation in front of a global one; None for other nodes."""
        if not node.kind.startswith("global-"):
            return None
        source = node
        for _ in self.nodes:
            if source.kind.startswith("local-") or not source.inputs:
                break
            source = self.nodes[source.inputs[0]]
        return source if source.kind.startswith("local-") else None


def _inputs(edges: Any, path: str) -> dict[int, tuple[int, ...]]:
    if not isinstance(edges, list):
        raise PlanError(f"{path} is not a compiled plan: it has no list of edges")
    inputs: dict[int, tuple[int, ...]] = {}
    for edge in edges:
        match edge:
            case {"source": int(source), "target": int(target)}:
                inputs[target] = (*inputs.get(target, ()), source)
            case _:
                raise PlanError(f"{path}: {edge!r} is not an edge, expected source and target")
    return inputs


def _node(node: Any, inputs: Mapping[int, tuple[int, ...]], path: str) -> PlanNode:
    match node:
        case {"id": int(number), "type": str(name)} if matched := _TYPE.fullmatch(name):
            kind, version = matched.groups()
        case _:
            raise PlanError(f"{path}: {str(node)[:80]} is not a node of a streaming plan")
    if (wrong := misshapen(node)) is not None:
        raise PlanError(f"{path}: node {number} is not in the form of COMPILE PLAN: {wrong}")
    states = sorted(map(_state, node.get("state") or ()), key=lambda state: state.index)
    return PlanNode(
        number,
        kind,
        int(version),
        str(node.get("description", "")),
        parse_row(node.get("outputType")),
        inputs.get(number, ()),
        tuple(states),
        node,
    )


def _state(state: Mapping[str, Any]) -> PlannedState:
    return PlannedState(state.get("index") or 0, str(state.get("name")), str(state.get("ttl")))


def parse_row(given: Any) -> Row | None:
    """Columns of a row type, as a text or an object; None for other types."""
    match given:
        case {"type": "ROW", "fields": [*columns]}:
            return tuple(
                NamedColumn(str(it.get("name")), parse_type(it.get("fieldType"))) for it in columns
            )
        case str() if given.startswith("ROW<"):
            return _columns(given)
        case _:
            return None


_COLUMN = re.compile(r"(?:ROW<|, )`((?:[^`]|``)*)` ")
_WITHIN = re.compile(r"'(?:[^']|'')*'|`(?:[^`]|``)*`|[<(]|[>)]|, (?=`)|[^'`<>(),]+|,")


def _columns(text: str) -> Row | None:
    """The columns of ``ROW<`a` BIGINT, ...>``; None if it ends too early."""
    columns, position = [], 0
    while matched := _COLUMN.match(text, position):
        start = position = matched.end()
        depth = 0
        while (token := _WITHIN.match(text, position)) is not None:
            depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(token.group(), 0)
            if depth < 0 or (not depth and token.group() == ", "):
                break
            position = token.end()
        columns.append(
            NamedColumn(matched.group(1).replace("``", "`"), parse_type(text[start:position]))
        )
    return tuple(columns) if text[position : position + 1] == ">" or text == "ROW<>" else None


def parse_type(given: Any) -> LogicalType | None:
    """A SQL type, as a text or as an object with its root; None if it isn't understood."""
    match given:
        case {"type": str(root), "precision": int(precision)}:
            # Rows have null instead of processing time.
            kind, is_nullable = str(given.get("kind", "REGULAR")), bool(given.get("nullable", True))
            if kind == "PROCTIME":
                kind, is_nullable = "REGULAR" if is_nullable else kind, True
            return LogicalType(root, is_nullable, precision=precision, kind=kind)
        case {"type": str(root)}:
            return LogicalType(root, bool(given.get("nullable", True)))
    try:
        return parse_logical_type(str(given))
    except ValueError:
        return None  # An interval, a structured type: the savepoint knows it.
