"""Makes machine code of a function of the kernel for a target, by LLVM."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from llvmlite import binding as llvm

from savepoint_formats.program.kernel.code.translation import translate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from savepoint_formats.program.kernel.code.targets import Target

_OPTIMIZATION = 3


def object_file(
    function: Callable[..., Any], arguments: Sequence[Any], name: str, target: Target
) -> bytes:
    """An object file with the function under a name, for a shared library.

    Args:
        function: A function of the kernel.
        arguments: Arguments of the kinds that it is called with: named tuples, numbers or None.
        name: The symbol.
        target: The machine that runs it.
    """
    machine = _machine(target)
    module = translate(function, arguments, name)
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    text = str(module)
    if target.suffix == ".dll":
        # llvmlite writes no storage class of a function.
        text = text.replace(f'define void @"{name}"(', f'define dllexport void @"{name}"(')
    optimized = llvm.parse_assembly(text)
    tuning = llvm.create_pipeline_tuning_options(speed_level=_OPTIMIZATION)
    tuning.loop_vectorization = False  # loops are short; it halves the speed of writing Kryo
    passes = llvm.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(optimized, passes)
    code: bytes = machine.emit_object(optimized)
    return code


@cache
def _machine(target: Target) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # The processor is named, because that of the builder may be newer than that of the user.
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features="", opt=_OPTIMIZATION, reloc="pic"
    )
