"""Translates expressions of the kernel from Python to LLVM's language: see ``translation``."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from llvmlite import ir

from savepoint_formats.program.kernel.code.library import results_of
from savepoint_formats.program.kernel.code.machine_code import PARTS
from savepoint_formats.program.kernel.code.memory import LOADS, STORES, copy, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from savepoint_formats.program.kernel.code.memory import Access

    Function = Callable[..., Any]

LONG = ir.IntType(64)
_BIT = ir.IntType(1)
BYTE = ir.IntType(8)
_TRUE, _FALSE = ir.Constant(_BIT, 1), ir.Constant(_BIT, 0)

_LOADS = {access.function: access for access in LOADS}
_STORES = {access.function: access for access in STORES}
_SIGNS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_OPERATIONS = {
    ast.Add: ir.IRBuilder.add,
    ast.Sub: ir.IRBuilder.sub,
    ast.Mult: ir.IRBuilder.mul,
    ast.LShift: ir.IRBuilder.shl,
    ast.RShift: ir.IRBuilder.ashr,
    ast.BitAnd: ir.IRBuilder.and_,
    ast.BitOr: ir.IRBuilder.or_,
    ast.BitXor: ir.IRBuilder.xor,
}


def long(number: int) -> ir.Constant:
    """A constant."""
    return ir.Constant(LONG, number)


def _constant(value: Any) -> ir.Constant | None:
    return None if value is None else long(int(value))


@dataclass(frozen=True, slots=True)
class Job:
    """The fields of a named tuple."""

    fields: tuple[str, ...]
    values: tuple[Any, ...]


def flattened(values: Sequence[Any]) -> list[Any]:
    """Arguments as numbers, without those that are None."""
    flat: list[Any] = []
    for value in values:
        if isinstance(value, Job):
            flat += value.values
        elif value is not None:
            flat.append(value)
    return flat


class Parts(Protocol):
    """The functions of a module."""

    copy: ir.Function
    swaps: dict[int, ir.Function]

    def function(self, function: Function, arguments: Sequence[Any]) -> ir.Function:
        """The function for such arguments."""

    def table(self, numbers: tuple[int, ...]) -> ir.GlobalVariable:
        """A constant table."""


class Expressions:
    """Translates the expressions of a function.

    A value is a number of 64 bits, or a bit that a comparison has given. Variables have memory of the
    stack, which LLVM makes registers of.
    """

    def __init__(self, module: Parts, function: Function, translated: ir.Function) -> None:
        self._module = module
        self._function = function
        self._translated = translated
        self._names: dict[str, Any] = {}
        self._entry = ir.IRBuilder(translated.append_basic_block("entry"))
        self._builder = ir.IRBuilder(translated.append_basic_block("body"))

    def _store(self, name: str, value: Any) -> None:
        if value is None or isinstance(value, Job):
            self._names[name] = value
            return
        if name not in self._names:
            self._names[name] = self._entry.alloca(LONG, name=name)
        self._builder.store(self._number(value), self._names[name])

    def _load(self, name: str) -> Any:
        if name in self._names:
            value = self._names[name]
            is_variable = isinstance(value, ir.AllocaInstr)
            return self._builder.load(value) if is_variable else value
        return _constant(self._function.__globals__[name])

    def unknown(self, node: ast.AST) -> NotImplementedError:
        line = getattr(node, "lineno", 0)
        text = f"{self._function.__module__}, line {line}: {ast.unparse(node)}"
        return NotImplementedError(f"{text} is no Python of the kernel")

    # --- conditions

    def _decided(self, test: ast.expr) -> bool | None:
        """The outcome of a test that a comparison with None decides; None for any other test."""
        match test:
            case ast.BoolOp(op=sign, values=[first, *_]):
                outcome = self._decided(first)
                return outcome if outcome is isinstance(sign, ast.Or) else None
            case ast.Compare(
                left=ast.Name(id=name),
                ops=[ast.Is() | ast.IsNot() as sign],
                comparators=[ast.Constant(value=None)],
            ):
                return (self._names[name] is None) == isinstance(sign, ast.Is)
        return None

    def _branch(self, test: ast.expr, yes: ir.Block, no: ir.Block) -> None:
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._branch(operand, no, yes)
            case ast.BoolOp(op=sign, values=tests):
                for operand in tests[:-1]:
                    following = self._translated.append_basic_block()
                    targets = (following, no) if isinstance(sign, ast.And) else (yes, following)
                    self._branch(operand, *targets)
                    self._builder.position_at_end(following)
                self._branch(tests[-1], yes, no)
            case ast.Compare() if self._decided(test) is None:
                left = self._value(test.left)
                for place, (comparison, node) in enumerate(
                    zip(test.ops, test.comparators, strict=True)
                ):
                    if place:
                        self._builder.position_at_end(following)
                    right = self._value(node)
                    is_last = place == len(test.ops) - 1
                    following = yes if is_last else self._translated.append_basic_block()
                    is_true = self._compared(comparison, left, right, test)
                    self._builder.cbranch(is_true, following, no)
                    left = right
            case _:
                decided = self._decided(test)
                if decided is None:
                    self._builder.cbranch(self._bit(self._value(test)), yes, no)
                else:
                    self._builder.branch(yes if decided else no)

    def _compared(self, sign: ast.cmpop, left: Any, right: Any, node: ast.AST) -> ir.Value:
        if type(sign) not in _SIGNS:
            raise self.unknown(node)
        return self._builder.icmp_signed(
            _SIGNS[type(sign)], self._number(left), self._number(right)
        )

    # --- values

    def _number(self, value: Any) -> ir.Value:
        if not isinstance(value, ir.Value):
            raise TypeError(f"{self._function.__qualname__}: {value} is no number")
        return self._builder.zext(value, LONG) if value.type == _BIT else value

    def _bit(self, value: Any) -> ir.Value:
        number = self._number(value)
        return value if value.type == _BIT else self._builder.icmp_signed("!=", number, long(0))

    def _value(self, node: ast.expr) -> Any:  # noqa: PLR0912 - a case per expression
        """A number; None, a job, or a list of numbers."""
        match node:
            case ast.Name(id=name):
                return self._load(name)
            case ast.Constant(value=int() | None as value):
                return _constant(value)
            case ast.Attribute(value=ast.Name(id=name), attr=field):
                held = self._names.get(name)
                if isinstance(held, Job):
                    return held.values[held.fields.index(field)]
                return _constant(getattr(self._function.__globals__[name], field))
            case ast.Tuple(elts=parts):
                return [self._value(part) for part in parts]
            case ast.BinOp(left=left, op=sign, right=right):
                return self._operation(sign, self._value(left), right, node)
            case ast.UnaryOp(op=sign, operand=operand):
                return self._unary(sign, self._value(operand), node)
            case ast.BoolOp():
                return self._either(node)
            case ast.Compare(left=left, ops=[sign], comparators=[right]):
                return self._compared(sign, self._value(left), self._value(right), node)
            case ast.Compare():
                return self._chosen(node, lambda: _TRUE, lambda: _FALSE)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._chosen(test, lambda: self._value(body), lambda: self._value(orelse))
            case ast.Subscript(value=ast.Name(id=name), slice=place):
                table = self._module.table(self._function.__globals__[name])
                index = self._number(self._value(place))
                return self._builder.load(self._builder.gep(table, [long(0), index]))
            case ast.Call(func=ast.Name(id=name)):
                return self._call(name, node)
            case _:
                raise self.unknown(node)

    def _either(self, node: ast.BoolOp) -> ir.Value:
        """The first value that decides, or the last one."""
        place, done = self._entry.alloca(LONG), self._translated.append_basic_block()
        for operand in node.values[:-1]:
            value = self._value(operand)
            self._builder.store(self._number(value), place)
            following = self._translated.append_basic_block()
            goes_on = isinstance(node.op, ast.And)
            targets = (following, done) if goes_on else (done, following)
            self._builder.cbranch(self._bit(value), *targets)
            self._builder.position_at_end(following)
        self._builder.store(self._number(self._value(node.values[-1])), place)
        self._builder.branch(done)
        self._builder.position_at_end(done)
        return self._builder.load(place)

    def _chosen(self, test: ast.expr, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """One of two values; only that one is computed."""
        decided = self._decided(test)
        if decided is not None:
            return yes() if decided else no()
        blocks = [self._translated.append_basic_block() for _ in range(3)]
        self._branch(test, *blocks[:2])
        places: list[Any] = []
        is_tuple = False
        for block, value in zip(blocks, (yes, no), strict=False):
            self._builder.position_at_end(block)
            computed = value()
            is_tuple = isinstance(computed, list)
            numbers = [self._number(number) for number in (computed if is_tuple else [computed])]
            places = places or [self._entry.alloca(LONG) for _ in numbers]
            for number, place in zip(numbers, places, strict=True):
                self._builder.store(number, place)
            self._builder.branch(blocks[2])
        self._builder.position_at_end(blocks[2])
        loaded = [self._builder.load(place) for place in places]
        return loaded if is_tuple else loaded[0]

    def _unary(self, sign: ast.unaryop, value: Any, node: ast.AST) -> ir.Value:
        number = self._number(value)
        match sign:
            case ast.Not():
                return self._builder.icmp_signed("==", number, long(0))
            case ast.USub() if isinstance(number, ir.Constant):
                return long(-number.constant)
            case ast.USub():
                return self._builder.neg(number)
            case ast.Invert():
                return self._builder.not_(number)
        raise self.unknown(node)

    def _operation(self, sign: ast.operator, left: Any, right: ast.expr, node: ast.AST) -> ir.Value:
        first, second = self._number(left), self._number(self._value(right))
        if type(sign) in _OPERATIONS:
            return _OPERATIONS[type(sign)](self._builder, first, second)
        if not isinstance(sign, (ast.FloorDiv, ast.Mod)):
            raise self.unknown(node)
        # Java's and LLVM's quotients are cut, Python's are rounded down.
        quotient, rest = self._builder.sdiv(first, second), self._builder.srem(first, second)
        differ = self._builder.icmp_signed("<", self._builder.xor(rest, second), long(0))
        is_rest = self._builder.icmp_signed("!=", rest, long(0))
        is_below = self._builder.and_(differ, is_rest)
        if isinstance(sign, ast.FloorDiv):
            return self._builder.sub(quotient, self._builder.zext(is_below, LONG))
        return self._builder.select(is_below, self._builder.add(rest, second), rest)

    # --- calls

    def _call(self, name: str, node: ast.Call) -> Any:
        function = self._function.__globals__.get(name) or getattr(builtins, name)
        values = [self._value(argument) for argument in node.args]
        if hasattr(function, "_fields"):
            return Job(function._fields, tuple(self._number(value) for value in values))
        if function in PARTS:
            return self._call_part(function, values, node.keywords)
        numbers = [self._number(value) for value in values]
        if function in _LOADS:
            return self._load_number(_LOADS[function], *numbers)
        if function in _STORES:
            return self._store_number(_STORES[function], *numbers)
        if function is copy:
            pointers = [
                self._builder.inttoptr(address, BYTE.as_pointer()) for address in numbers[:2]
            ]
            return self._builder.call(self._module.copy, [*pointers, numbers[2], _FALSE])
        if function in {int, wrapped}:
            return numbers[0]
        if function is bool:
            return self._bit(numbers[0])
        if function in {abs, min, max}:
            other = self._builder.neg(numbers[0]) if function is abs else numbers[1]
            sign = "<" if function is min else ">"
            is_first = self._builder.icmp_signed(sign, numbers[0], other)
            return self._builder.select(is_first, numbers[0], other)
        raise self.unknown(node)

    def _call_part(self, part: Function, values: list[Any], named: list[ast.keyword]) -> Any:
        code = part.__code__
        given = {keyword.arg: self._value(keyword.value) for keyword in named}
        values += [given[name] for name in code.co_varnames[len(values) : code.co_argcount]]
        arguments = [self._number(value) for value in flattened(values)]
        result = self._builder.call(self._module.function(part, values), arguments)
        several = results_of(part)
        if several is None:
            return result
        return [self._builder.extract_value(result, place) for place in range(len(several))]

    def _load_number(self, access: Access, address: ir.Value) -> ir.Value:
        kind = ir.IntType(access.bits)
        number = self._builder.load(self._builder.inttoptr(address, kind.as_pointer()))
        number.align = 1
        number = self._swapped(number, access)
        if access.bits == LONG.width:
            return number
        return (self._builder.sext if access.is_signed else self._builder.zext)(number, LONG)

    def _store_number(self, access: Access, address: ir.Value, number: ir.Value) -> None:
        kind = ir.IntType(access.bits)
        cut = number if access.bits == LONG.width else self._builder.trunc(number, kind)
        pointer = self._builder.inttoptr(address, kind.as_pointer())
        self._builder.store(self._swapped(cut, access), pointer, align=1)

    def _swapped(self, number: ir.Value, access: Access) -> ir.Value:
        if not access.is_big:
            return number
        return self._builder.call(self._module.swaps[access.bits], [number])
