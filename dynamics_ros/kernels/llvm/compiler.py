# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Compilation of LLVM IR to machine code in this process, by the optional llvmlite."""

from __future__ import annotations

import ctypes
import ctypes.util
import mmap
import os
import re
import sys
import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dynamics_ros.kernels.graph.operations import ELEMENTARY
from dynamics_ros.kernels.llvm import runtime as llvm_runtime
from dynamics_ros.kernels.llvm.line import Target, target_of
from dynamics_ros.kernels.process import background, disk_cache

LIBM_FUNCTIONS = [row.name for row in ELEMENTARY if 'llvm.' not in ''.join(row.llvm)]


class CompilerUnavailableError(Exception):
    """Raised when no compiler is available in this process."""


PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
"""Type of ``batch`` in modules of `llvm.source`."""


class MachineCode:
    """Functions of a compiled module, loaded in this process.

    Attributes:
        addresses: addresses of the functions by name.
        token: keeps the functions in memory while it lives; calls hold it. The cyclic garbage
            collector does not traverse a plain array: it ends with its last reference, and not
            before finalizers of a cycle that call the functions.
    """

    def __init__(self, engine: Any, functions: Sequence[str]) -> None:
        found = map(engine.get_function_address, functions)
        self.addresses = dict(zip(functions, found, strict=True))
        self.token = np.empty(0)
        weakref.finalize(self.token, background.discard, engine.close).atexit = False

    def run(self, starts: Sequence[int], strides: Sequence[int], states: int) -> int:
        """Run the function ``batch``, without the GIL; return the number of states computed.

        Args:
            starts, strides: address and stride in bytes of each array, inputs first.
            states: number of states.
        """
        count = len(starts)
        pointers, steps = (ctypes.c_void_p * count)(*starts), (ctypes.c_int64 * count)(*strides)
        return int(PROTOTYPE(self.addresses['batch'])(states, pointers, steps))


READ_EXECUTE = 1 | 4
"""PROT_READ, PROT_EXEC."""


@lru_cache(maxsize=1)
def why_forbidden() -> str:
    """Return why machine code made in this process would not run; '' if it would."""
    if not sys.platform.startswith('linux'):
        return ''
    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    with mmap.mmap(-1, mmap.PAGESIZE) as page:
        # Same order as LLVM: pages are written first and made executable then.
        start = ctypes.c_char.from_buffer(page)
        refused = mprotect(ctypes.addressof(start), mmap.PAGESIZE, READ_EXECUTE)
        reason = os.strerror(ctypes.get_errno()) if refused else ''
        del start  # else the page cannot be closed
    if not refused:
        return ''
    return (
        f'this process may not run memory that it has written ({reason}): allow that, such as by '
        'MemoryDenyWriteExecute=no for a service of systemd'
    )


@lru_cache(maxsize=1)
def load() -> Any:
    """Return llvmlite's binding, initialized.

    Raises:
        CompilerUnavailableError: llvmlite is missing or broken, or machine code may not run here.
    """
    if forbidden := why_forbidden():
        raise CompilerUnavailableError(forbidden)
    # A process that forks during an import would have a half-imported module forever.
    with background.llvm:
        try:
            from llvmlite import binding
        except (ImportError, OSError) as error:
            raise CompilerUnavailableError(f'llvmlite cannot be imported ({error})') from None
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
    return binding


def platform() -> Target:
    """Return the target for code that runs here.

    Compiles the shared runtime functions first.

    Raises:
        CompilerUnavailableError: there is no LLVM.
    """
    load()
    # If two threads made it, one would be freed together with code that kernels are linked to.
    with background.llvm:
        return _prepared()[0]


@lru_cache(maxsize=1)
def _prepared() -> tuple[Target, MachineCode]:
    binding = load()
    _provide_libm(binding)
    features = binding.get_host_cpu_features()
    target = target_of(binding.get_default_triple(), features)
    origin = disk_cache.origin(target)
    code = object_code(lambda: llvm_runtime.emit(target), origin)
    functions = linked(code, [*llvm_runtime.declarations(target)])
    for name, place in functions.addresses.items():
        binding.add_symbol(name, place)
    return target, functions


def object_code(ir: Callable[[], str], origin: str = '', quickly: bool = False) -> bytes:
    """Return the machine code of a module as an object file, compiled or from disk.

    It holds no address of this process: another process with the same packages may run it.

    Args:
        ir: makes the LLVM IR.
        origin: identifies the sources of the module, so that it need not be printed to be found on
            disk; '' for the IR itself.
        quickly: compiles in a tenth of the time, to slower code.
    """
    binding = load()
    text = '' if origin else ir()
    name = _name(origin or text, quickly)
    code = disk_cache.read(name)
    if code is None:
        text = text or ir()
        if binding.llvm_version_info[0] < 16:
            text = typed_pointers(text)
        with background.llvm:
            code = _compiled(binding, text, _machine(quickly))
        disk_cache.write(name, code)
    return code


def kept_code(origin: str, quickly: bool = False) -> bytes | None:
    """Return the object file that ``object_code`` has left on disk; None if there is none."""
    try:
        return disk_cache.read(_name(origin, quickly)) if origin else None
    except CompilerUnavailableError:
        return None


def _name(origin: str, quickly: bool) -> str:
    return disk_cache.key(origin, _target()[2], repr(_options(quickly)))


@lru_cache
def _options(quickly: bool) -> dict[str, Any]:
    return {**_target()[1], 'opt': 0 if quickly else 2}


def _machine(quickly: bool = False) -> Any:
    return _target()[0].create_target_machine(jit=True, **_options(quickly))


def linked(code: bytes, functions: Sequence[str]) -> MachineCode:
    """Load an object file into the memory of this process.

    Args:
        code: object file from ``object_code``.
        functions: the functions whose addresses will be requested.
    """
    binding = load()
    with background.llvm:
        engine = binding.create_mcjit_compiler(binding.parse_assembly(''), _machine())
        engine.add_object_file(binding.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return MachineCode(engine, functions)


def _compiled(binding: Any, ir: str, machine: Any) -> bytes:
    """Compile a module and free it: in memory it takes thirty times the size of its code."""
    # In a separate context, because a context keeps types and constants until it is disposed of.
    context = binding.create_context()
    try:
        module = binding.parse_assembly(ir, context)
        try:
            module.verify()
            return bytes(machine.emit_object(module))
        finally:
            module.close()
    finally:
        context.close()


@lru_cache(maxsize=1)
def _target() -> tuple[Any, dict[str, Any], str]:
    """Return the target, the compiler options, and a text of versions for the cache key."""
    binding = load()
    with background.llvm:
        target = binding.Target.from_default_triple()
        options = {
            'cpu': binding.get_host_cpu_name(),
            'features': binding.get_host_cpu_features().flatten(),
            'codemodel': 'jitdefault',
        }
        import llvmlite

        versions = f'{binding.llvm_version_info} {llvmlite.__version__} {target.triple}'
        return target, options, versions


def _provide_libm(binding: Any) -> None:
    """Register the mathematical functions of this process with LLVM.

    Raises:
        CompilerUnavailableError: the mathematical library lacks one.
    """
    for name in LIBM_FUNCTIONS:
        if not binding.address_of_symbol(name):
            # Python itself links libm, so the search, which starts a process, is for exotic builds.
            function = getattr(ctypes.CDLL(None), name, None)
            function = function or getattr(ctypes.CDLL(ctypes.util.find_library('m')), name, None)
            if function is None:
                raise CompilerUnavailableError(f'the mathematical library has no {name}')
            binding.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value or 0)


_ACCESS = re.compile(
    r'  (?P<made>%\S+ = )?(?P<what>load volatile|load|store volatile|store|getelementptr|alloca) '
    r'(?P<kind><\d+ x \w+>|\[\d+ x \w+\]|\w+)(?P<value>.*?)(?:, ptr (?P<place>[%@][\w.]+))?'
    r'(?P<rest>, (?:i64|align|!).*)?'
)


def typed_pointers(ir: str) -> str:
    """Return a module as LLVM before 16 reads it: pointers are ``i8*``, cast where they are used.

    It covers the instructions that this package writes, one a line.
    """
    lines = []
    for number, line in enumerate(ir.split('\n')):
        access = _ACCESS.fullmatch(line)
        if access is None:
            lines.append(line)
            continue
        made, what, kind, value, place, rest = access.group(*_ACCESS.groupindex)
        typed, made, rest = f'%cast.{number}', made or '', rest or ''
        if place and place[0] == '%':
            lines.append(f'  {typed} = bitcast ptr {place} to {kind}*')
            place = typed
        after = f', {kind}* {place}{rest}' if place else rest
        if what in ('getelementptr', 'alloca'):
            name = made.removesuffix(' = ')
            result = kind.partition('x ')[2].rstrip(']') if kind[0] == '[' else kind
            lines.append(f'  {name}.typed = {what} {kind}{value}{after}')
            lines.append(f'  {name} = bitcast {result}* {name}.typed to ptr')
        else:
            lines.append(f'  {made}{what} {kind}{value}{after}')
    return re.sub(r'\bptr\b', 'i8*', '\n'.join(lines)).replace('prefetch.p0(', 'prefetch.p0i8(')
