"""From LLVM IR to machine code in this process, by llvmlite, which is optional."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Sequence
from typing import Any

LIBM_FUNCTIONS = ('sin', 'cos', 'sincos', 'tan', 'asin', 'acos', 'atan2', 'exp', 'log')


class CompilerUnavailableError(Exception):
    """There is no compiler here that could make machine code of any kernel."""


class MachineCode:
    """Compiled functions; they stay in memory as long as this object."""

    def __init__(self, engine: Any, functions: Sequence[str]) -> None:
        self._engine = engine
        self._addresses = {name: engine.get_function_address(name) for name in functions}

    def address(self, function: str) -> int:
        """Return the address of a function."""
        return int(self._addresses[function])


def load() -> Any:
    """Return llvmlite's binding, ready for use.

    Raises:
        CompilerUnavailableError: llvmlite is missing or broken.
    """
    try:
        from llvmlite import binding
    except (ImportError, OSError) as error:
        raise CompilerUnavailableError(f'llvmlite cannot be imported ({error})') from None
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


def has_opaque_pointers() -> bool:
    """Return whether this LLVM writes pointers ``ptr``.

    Raises:
        CompilerUnavailableError: there is no LLVM.
    """
    try:
        load().parse_assembly('declare void @f(ptr)')
    except RuntimeError:
        return False
    return True


def compile_module(ir: str, functions: Sequence[str]) -> MachineCode:
    """Compile a module for this processor.

    Args:
        ir: LLVM IR.
        functions: the functions whose addresses will be asked for.
    """
    binding = load()
    _provide_libm(binding)
    target = binding.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=2,
        codemodel='jitdefault',
        jit=True,
    )
    module = binding.parse_assembly(ir)
    module.verify()
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return MachineCode(engine, functions)


def _provide_libm(binding: Any) -> None:
    """Tell LLVM where the mathematical functions of this process are."""
    for name in LIBM_FUNCTIONS:
        if not binding.address_of_symbol(name):
            binding.add_symbol(name, _libm_address(name))


def _libm_address(name: str) -> int:
    # Python itself links libm, so the search, which starts a process, is for exotic builds.
    function = getattr(ctypes.CDLL(None), name, None)
    if function is None:
        function = getattr(ctypes.CDLL(ctypes.util.find_library('m')), name, None)
    if function is None:
        raise CompilerUnavailableError(f'the mathematical library has no {name}')
    return ctypes.cast(function, ctypes.c_void_p).value or 0
