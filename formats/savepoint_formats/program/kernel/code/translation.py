"""Translates functions of the kernel from Python to LLVM's language.

The kernel speaks little Python: all values are integers of 64 bits. Its statements are assignments,
``if``, ``while``, ``for`` over a ``range``, ``break``, ``continue`` and ``return``. Its expressions
are those of integers, calls of other parts, tuples of results, and fields of jobs. An argument may
be None; an ``if`` that tests this is decided here, and the other branch is left out.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections import Counter
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from savepoint_formats.program.kernel.code.expressions import (
    BYTE,
    LONG,
    Expressions,
    Job,
    flattened,
    long,
)
from savepoint_formats.program.kernel.code.library import results_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.program.kernel.code.expressions import Function

_VOID = ir.VoidType()
_WITH_STEP = 2


def translate(function: Function, arguments: Sequence[Any], name: str) -> ir.Module:
    """A module with this function: it takes the addresses of its arguments and of its results.

    ``arguments`` are None, named tuples or numbers; only their kinds matter.
    """
    module = ir.Module(name)
    parts = _Module(module)
    outer = ir.Function(module, ir.FunctionType(_VOID, [LONG, LONG]), name)
    builder = ir.IRBuilder(outer.append_basic_block())
    given, target = (builder.inttoptr(address, LONG.as_pointer()) for address in outer.args)
    places = count()

    def load() -> ir.Value:
        return builder.load(builder.gep(given, [long(next(places))]))

    values: list[Any] = []
    for argument in arguments:
        if isinstance(argument, tuple) and (fields := getattr(argument, "_fields", ())):
            values.append(Job(fields, tuple(load() for _ in fields)))
        else:
            values.append(None if argument is None else load())
    result = builder.call(parts.function(function, values), flattened(values))
    several = results_of(function)
    for place in range(len(several or ())):
        pointer = builder.gep(target, [long(place)])
        builder.store(builder.extract_value(result, place), pointer)
    if several is None and result.type != _VOID:
        builder.store(result, target)
    builder.ret_void()
    parts.inline_single_calls()
    return module


@cache
def _functions(module: str) -> dict[str, ast.FunctionDef]:
    """The functions of a module, by their names."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


class _Module:
    """The functions of a module, each once for each kind of arguments."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module
        self._translated: dict[Any, ir.Function] = {}
        self._calls = Counter[Any]()
        pointer = BYTE.as_pointer()
        self.copy = module.declare_intrinsic("llvm.memcpy", [pointer, pointer, LONG])
        self.swaps = {
            bits: module.declare_intrinsic("llvm.bswap", [ir.IntType(bits)])
            for bits in (16, 32, 64)
        }

    def function(self, function: Function, arguments: Sequence[Any]) -> ir.Function:
        """The function for such arguments."""
        kinds = tuple(
            value.fields if isinstance(value, Job) else value is None for value in arguments
        )
        self._calls[function, kinds] += 1
        if (function, kinds) not in self._translated:
            several = results_of(function)
            single = _VOID if function.__annotations__["return"] == "None" else LONG
            result = single if several is None else ir.LiteralStructType([LONG] * len(several))
            taken = [LONG] * len(flattened(arguments))
            name = self.module.get_unique_name(function.__name__)
            translated = ir.Function(self.module, ir.FunctionType(result, taken), name)
            translated.linkage = "internal"
            translated.attributes.add("nounwind")
            self._translated[function, kinds] = translated
            _Body(self, function, translated).translate(kinds)
        return self._translated[function, kinds]

    def inline_single_calls(self) -> None:
        """Lets functions that one place calls be inlined there; LLVM thinks most of them are rare."""
        for key, calls in self._calls.items():
            if calls == 1:
                self._translated[key].attributes.add("alwaysinline")

    def table(self, numbers: tuple[int, ...]) -> ir.GlobalVariable:
        """A constant table."""
        kind = ir.ArrayType(LONG, len(numbers))
        table = ir.GlobalVariable(self.module, kind, self.module.get_unique_name("table"))
        table.linkage, table.global_constant = "internal", True
        table.initializer = ir.Constant(kind, list(numbers))
        return table


class _Body(Expressions):
    """The translation of a function."""

    def translate(self, kinds: tuple[Any, ...]) -> None:
        """Translates all, for arguments of these kinds: the fields of jobs, or whether None."""
        body = self._builder.block
        self._loops: list[tuple[ir.Block, ir.Block]] = []
        node = _functions(self._function.__module__)[self._function.__code__.co_name]
        given = iter(self._translated.args)
        for argument, kind in zip(node.args.args, kinds, strict=True):
            if isinstance(kind, tuple):
                self._names[argument.arg] = Job(kind, tuple(next(given) for _ in kind))
            else:
                self._store(argument.arg, None if kind else next(given))
        self._statements(node.body)
        if not self._builder.block.is_terminated:
            if self._translated.function_type.return_type == _VOID:
                self._builder.ret_void()
            else:
                self._builder.unreachable()
        self._entry.branch(body)

    # --- statements

    def _statements(self, nodes: Sequence[ast.stmt]) -> None:
        for node in nodes:
            if self._builder.block.is_terminated:
                break
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:  # noqa: PLR0912 - a case per statement
        match node:
            case ast.Assign():
                value = self._value(node.value)
                for target in node.targets:
                    self._assign(target, value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._store(name, self._value(value))
            case ast.AugAssign(target=ast.Name(id=name)):
                self._store(name, self._operation(node.op, self._load(name), node.value, node))
            case ast.If():
                self._if(node)
            case ast.While():
                self._while(node)
            case ast.For(
                target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=arguments)
            ):
                self._for(name, arguments, node)
            case ast.Return(value=None):
                self._builder.ret_void()
            case ast.Return(value=value):
                assert value is not None
                result = self._value(value)
                if isinstance(result, list):
                    self._builder.ret(self._packed(result))
                else:
                    self._builder.ret(self._number(result))
            case ast.Break():
                self._builder.branch(self._loops[-1][1])
            case ast.Continue():
                self._builder.branch(self._loops[-1][0])
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=ast.IfExp(test=test, body=body, orelse=orelse)):
                self._if(ast.If(test, [ast.Expr(body)], [ast.Expr(orelse)]))
            case ast.Expr(value=value):
                self._value(value)
            case _:
                raise self.unknown(node)

    def _packed(self, values: list[Any]) -> ir.Value:
        packed = ir.Constant(self._translated.function_type.return_type, ir.Undefined)
        for place, value in enumerate(values):
            packed = self._builder.insert_value(packed, self._number(value), place)
        return packed

    def _assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name):
                self._store(name, value)
            case ast.Tuple(elts=targets):
                for inner, part in zip(targets, value, strict=True):
                    self._assign(inner, part)
            case _:
                raise self.unknown(target)

    def _if(self, node: ast.If) -> None:
        decided = self._decided(node.test)
        if decided is not None:
            self._statements(node.body if decided else node.orelse)
            return
        yes, no, behind = (self._translated.append_basic_block() for _ in range(3))
        self._branch(node.test, yes, no)
        for block, statements in ((yes, node.body), (no, node.orelse)):
            self._builder.position_at_end(block)
            self._statements(statements)
            self._go(behind)
        self._builder.position_at_end(behind)

    def _go(self, block: ir.Block) -> None:
        if not self._builder.block.is_terminated:
            self._builder.branch(block)

    def _while(self, node: ast.While) -> None:
        test, body, behind = (self._translated.append_basic_block() for _ in range(3))
        self._builder.branch(test)
        self._builder.position_at_end(test)
        self._branch(node.test, body, behind)
        self._builder.position_at_end(body)
        self._loop(node.body, test, behind)

    def _loop(self, body: Sequence[ast.stmt], following: ir.Block, behind: ir.Block) -> None:
        """The body of a loop, in the block that has begun."""
        self._loops.append((following, behind))
        self._statements(body)
        self._go(following)
        self._loops.pop()
        self._builder.position_at_end(behind)

    def _for(self, name: str, arguments: list[ast.expr], node: ast.For) -> None:
        numbers = [self._number(self._value(argument)) for argument in arguments]
        start, stop = numbers[:2] if len(numbers) > 1 else (long(0), *numbers)
        step = numbers[2] if len(numbers) > _WITH_STEP else long(1)
        if not isinstance(step, ir.Constant):
            raise self.unknown(node)
        place = self._entry.alloca(LONG)
        self._builder.store(start, place)
        test, body, following, behind = (self._translated.append_basic_block() for _ in range(4))
        self._builder.branch(test)
        self._builder.position_at_end(test)
        at = self._builder.load(place)
        sign = "<" if step.constant > 0 else ">"
        self._builder.cbranch(self._builder.icmp_signed(sign, at, stop), body, behind)
        self._builder.position_at_end(following)
        self._builder.store(self._builder.add(self._builder.load(place), step), place)
        self._builder.branch(test)
        self._builder.position_at_end(body)
        self._store(name, at)
        self._loop(node.body, following, behind)
