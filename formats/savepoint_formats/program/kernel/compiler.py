"""How numba compiles the kernel. Only this module imports it, when machine code must run."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils, event
from numba.core.caching import Cache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.typing.templates import infer_global
from numba.extending import lower_builtin, type_callable

from savepoint_formats.program.kernel.machine_code import INLINED_PARTS, PARTS
from savepoint_formats.program.kernel.memory import LOADS, STORES, copy, wrapped
from savepoint_formats.program.kernel.revision import with_revision

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from savepoint_formats.program.kernel.machine_code import Compilation
    from savepoint_formats.program.kernel.memory import Access

_BYTE = ir.IntType(8)
_LONG = ir.IntType(64)
_Cache: Any = Cache
_JITCodeLibrary: Any = JITCodeLibrary
_Compiler: Any = Compiler
_NUMBERS = count()
_infer_global: Any = infer_global
_lower_builtin: Any = lower_builtin
_KNOWN: dict[Callable[..., Any], Any] = {}


class _NoCode:
    """Takes the place of what would make machine code of a part."""

    @staticmethod
    def set_env(name: str, env: Any) -> None:
        """Python's environment of a function, which only Python's objects need."""


class _PartLibrary(_JITCodeLibrary):  # type: ignore[misc]  # numba has no types
    """A part before it is optimized, because its callers are optimized with it."""

    codegen = _NoCode()

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002 - numba's
        """No address: only other functions call it."""
        return 0


class _PartCompiler(_Compiler):  # type: ignore[misc]  # numba has no types
    """Compiles a function that is part of others."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        if self.state.library is None:
            codegen = self.state.targetctx.codegen()
            self.state.library = _PartLibrary(codegen, f"part_{next(_NUMBERS)}")
            self.state.library.enable_object_caching()


# No C code calls these functions, and Python calls no part: wrappers would cost a sixth of the time.
_RULES: Any = {
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}
_RULES_OF_PARTS: Any = {**_RULES, "no_cpython_wrapper": True, "pipeline_class": _PartCompiler}


def compiled(function: Callable[..., Any]) -> Any:
    """Numba's dispatcher of a function that Python calls.

    Its machine code lies beside the sources or in the user's cache folder. If neither can be
    written, every process compiles for itself.
    """
    for called in PARTS:
        if called not in _KNOWN:
            # Numba takes this dispatcher for the function, but holds no reference to it.
            inlines = called in INLINED_PARTS
            dispatcher = njit(**_RULES_OF_PARTS, forceinline=inlines)(called)
            _KNOWN[called] = _for_any_number(dispatcher)
            _infer_global(called, types.Dispatcher(_KNOWN[called]))
    try:
        return njit(**_RULES, cache=True)(with_revision(function))
    except RuntimeError:
        return njit(**_RULES)(function)


def _for_any_number(dispatcher: Any) -> Any:
    """Compiles a function once for all numbers, instead of again for each literal."""
    template = dispatcher.get_call_template
    dispatcher.get_call_template = lambda arguments, named: template(
        tuple(map(types.unliteral, arguments)), named
    )
    return dispatcher


def load_kept(dispatcher: Any) -> bool:
    """Loads a function's stored machine code for all types of calls; whether there is any."""
    cache = dispatcher._cache  # numba has no public list of stored code
    if not isinstance(cache, _Cache):
        return False
    code = dispatcher.targetctx.codegen()
    stored = cache._cache_file._load_index()
    types_of_calls = [key[0] for key in stored if key == cache._index_key(key[0], code)]
    for types_of_call in types_of_calls:
        dispatcher.compile(types_of_call)
    return bool(types_of_calls)


@contextmanager
def following(compilation: Compilation, parts: Collection[Callable[..., Any]]) -> Iterator[None]:
    """Updates a compilation whenever numba has compiled one of its parts."""
    install: Any = event.install_listener
    with install("numba:compile", _Follower(compilation, parts)):
        yield


class _Follower(event.Listener):
    """Counts the functions that are compiled, each once."""

    def __init__(self, compilation: Compilation, parts: Collection[Callable[..., Any]]) -> None:
        self._compilation, self._parts = compilation, parts
        self._compiled: set[Callable[..., Any]] = set()

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002  # numba's
        """Called before a function is compiled."""
        self._compilation.has_begun = True

    def on_end(self, event: event.Event) -> None:
        """Called when a function is compiled."""
        function = event.data["dispatcher"].py_func
        if function in self._parts:
            self._compiled.add(function)
            self._compilation.done = len(self._compiled)


def _lower(function: Callable[..., Any], result: Any, code: Callable[..., Any]) -> None:
    count = function.__code__.co_argcount
    numbers = (types.int64,) * count
    signature = result(*numbers)
    if count == 1:
        type_callable(function)(lambda _: lambda number: signature)  # noqa: ARG005 - names it
    elif count == 2:
        type_callable(function)(lambda _: lambda address, number: signature)  # noqa: ARG005
    else:
        type_callable(function)(lambda _: lambda target, source, size: signature)  # noqa: ARG005
    _lower_builtin(function, *numbers)(code)


def _lower_load(access: Access) -> None:
    def code(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(access.bits).as_pointer())
        number = builder.load(pointer, align=1)
        number = builder.bswap(number) if access.is_big else number
        if access.bits == _LONG.width:
            return number
        return (builder.sext if access.is_signed else builder.zext)(number, _LONG)

    _lower(access.function, types.int64, code)


def _lower_store(access: Access) -> None:
    def code(context: Any, builder: Any, __: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(access.bits).as_pointer())
        number = arguments[1]
        if access.bits < _LONG.width:
            number = builder.trunc(number, ir.IntType(access.bits))
        number = builder.bswap(number) if access.is_big else number
        builder.store(number, pointer, align=1)
        return context.get_dummy_value()

    _lower(access.function, types.void, code)


def _copy(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
    memcpy: Any = cgutils.raw_memcpy
    target = builder.inttoptr(arguments[0], _BYTE.as_pointer())
    source = builder.inttoptr(arguments[1], _BYTE.as_pointer())
    memcpy(builder, target, source, arguments[2], 1)
    return context.get_dummy_value()


for _access in LOADS:
    _lower_load(_access)
for _access in STORES:
    _lower_store(_access)
_lower(copy, types.void, _copy)
_lower(wrapped, types.int64, lambda _, __, ___, arguments: arguments[0])
