"""Types of states that the source of a PyFlink job names. The source is parsed, never run.

Descriptors are calls such as ``ListStateDescriptor("seen", Types.LONG())`` in a class. The class belongs to the
operator that ``.process(Function(...)).uid("orders")`` builds of it. Names that stand for types are looked up
where the module assigns them.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.errors import DescriptionError
from savepoint_formats.python_state.stored_forms import KEY
from savepoint_formats.python_state.type_texts import state_layout, type_layout
from savepoint_formats.savepoint_warnings import UnreadStateWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

_ARGUMENTS = {
    "ValueStateDescriptor": ("value_type_info",),
    "ListStateDescriptor": ("elem_type_info",),
    "MapStateDescriptor": ("key_type_info", "value_type_info"),
    "ReducingStateDescriptor": ("reduce_function", "type_info"),
    "AggregatingStateDescriptor": ("agg_function", "state_type_info"),
}
"""Arguments of each descriptor behind its name."""

_LARGEST = 4 << 20


def job_types(source: str, file: str) -> dict[str, dict[str, str]]:
    """Operator -> state -> text of its type, as ``state_layout`` takes it; ``key`` has that of the keys.

    If an operator has no uid in the source, its function's class names it. States whose names or types
    only a run of the job would tell are left out, with an ``UnreadStateWarning`` each.

    Raises:
        DescriptionError: The file is no Python, or names no state.
    """
    if len(source) > _LARGEST:
        raise DescriptionError(
            f"{file} has {len(source)} characters, which is too large for the source of a job"
        )
    try:
        module = ast.parse(source, file)
        types = _Job.of(module, file).types()
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise DescriptionError(f"{file} is no Python that can be read: {error}") from error
    if not types:
        raise DescriptionError(f"{file} has no state descriptor with a name and a type in it")
    return types


@dataclass(frozen=True, slots=True)
class _Job:
    """Classes with their states, assigned names, and the module."""

    module: ast.Module
    classes: dict[str, dict[str, str]]
    assigned: dict[str, ast.expr]

    @classmethod
    def of(cls, module: ast.Module, file: str) -> _Job:
        assigned = {
            target.id: node.value
            for node in module.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        classes = {
            node.name: dict(_states(node, assigned, file))
            for node in ast.walk(module)
            if isinstance(node, ast.ClassDef)
        }
        return cls(module, classes, assigned)

    def types(self) -> dict[str, dict[str, str]]:
        operators: dict[str, dict[str, str]] = {}
        used = set[str]()
        for uid, chain in _operators(self.module):
            states = {name: text for call in chain for name, text in self._told(call, used)}
            if states.keys() - {KEY}:
                operators.setdefault(uid, {}).update(states)
        rest = {name: states for name, states in self.classes.items() if states}
        return operators | {name: rest[name] for name in rest if name not in used}

    def _told(self, call: ast.Call, used: set[str]) -> Iterator[tuple[str, str]]:
        """Types that a call of a chain tells: of keys, or of the states of a function."""
        if _name(call.func) == "key_by" and (key := _argument(call, 1, "key_type")) is not None:
            text = ast.unparse(_Resolved(self.assigned).visit(_copy(key)))
            if _is_type(text, is_state=False):
                yield KEY, text
        for argument in call.args:
            name = _name(argument.func if isinstance(argument, ast.Call) else argument)
            if name in self.classes:
                used.add(name)
                yield from self.classes[name].items()


def _operators(module: ast.Module) -> Iterator[tuple[str, list[ast.Call]]]:
    """Uids, and the calls in front of each ``.uid(...)`` up to the uid before."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and _name(node.func) == "uid" and node.args:
            uid = node.args[0]
            if isinstance(uid, ast.Constant) and isinstance(uid.value, str):
                yield uid.value, list(_chain(node))


def _chain(call: ast.Call) -> Iterator[ast.Call]:
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    while isinstance(receiver, ast.Call) and _name(receiver.func) != "uid":
        yield receiver
        receiver = receiver.func.value if isinstance(receiver.func, ast.Attribute) else None


def _states(
    node: ast.ClassDef, assigned: dict[str, ast.expr], file: str
) -> Iterator[tuple[str, str]]:
    for call in ast.walk(node):
        kind = _name(call.func) if isinstance(call, ast.Call) else ""
        if not isinstance(call, ast.Call) or kind not in _ARGUMENTS:
            continue
        name = _argument(call, 0, "name")
        told = [_argument(call, index, key) for index, key in enumerate(_ARGUMENTS[kind], start=1)]
        types = told[-1:] if kind.startswith(("Reducing", "Aggregating")) else told
        if name is not None:
            name = _Resolved(assigned).visit(_copy(name))
        texts = [ast.unparse(_Resolved(assigned).visit(_copy(part))) for part in types if part]
        text = f"{kind.removesuffix('Descriptor')}({', '.join(texts)})"
        if isinstance(name, ast.Constant) and None not in types and _is_type(text, is_state=True):
            yield str(name.value), text
        else:
            what = "type" if isinstance(name, ast.Constant) else "name"
            message = f"{file}, line {call.lineno}: a {kind} is left out, because only a run tells its {what}"
            warnings.warn(message, UnreadStateWarning, stacklevel=2)


class _Resolved(ast.NodeTransformer):
    """Puts the assigned types into the place of their names, to a certain depth."""

    def __init__(self, assigned: dict[str, ast.expr], depth: int = 8) -> None:
        self.assigned, self.depth = assigned, depth

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.assigned.get(node.id)
        if value is None or not self.depth:
            return node
        resolved: ast.expr = _Resolved(self.assigned, self.depth - 1).visit(_copy(value))
        return resolved


def _copy(node: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(node), mode="eval").body


def _is_type(text: str, *, is_state: bool) -> bool:
    try:
        (state_layout if is_state else type_layout)(text)
    except ValueError:
        return False
    return True


def _argument(call: ast.Call, index: int, name: str) -> ast.expr | None:
    named = (keyword.value for keyword in call.keywords if keyword.arg == name)
    return call.args[index] if index < len(call.args) else next(named, None)


def _name(node: ast.expr) -> str:
    """The last name of a called function."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
