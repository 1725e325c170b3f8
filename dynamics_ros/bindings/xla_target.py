# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Registration of kernels as custom call targets of XLA programs."""

from __future__ import annotations

import ctypes
import logging
import math
import re
import sys
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dynamics_ros.bindings import xla_handler
from dynamics_ros.kernels import Kernel
from dynamics_ros.kernels.batch_code import BATCH_STATES
from dynamics_ros.kernels.llvm import compiler
from dynamics_ros.kernels.llvm.compiler import CompilerUnavailableError
from dynamics_ros.kernels.llvm.source import llvm_ir
from dynamics_ros.kernels.machine_code import LlvmBackend
from dynamics_ros.kernels.process import disk_cache

_log = logging.getLogger('dynamics_ros.bindings')

_targets: dict[str, Target | None] = {}
"""Registered targets by name; None if XLA has rejected one.

Targets are kept until the process ends, because compiled XLA programs may call them at any time.
"""

_registering = threading.Lock()


def target(kernel: Kernel, dtype: Any) -> str | None:
    """Register a kernel as a target on the processor; return its name, None if XLA cannot call it.

    The name is derived from the computation, so a program in JAX's disk cache finds the same
    function in another process. Arrays have the shape (..., input shape) with the same leading
    axes, in row-major order.

    Args:
        kernel: the kernel.
        dtype: data type of all arrays, float64 or float32.
    """
    plain = kernel.ready and kernel.backend == 'python'
    minor = None if plain or not kernel.trace.outputs else _minor_version()
    if minor is not None:
        name = _name(kernel, np.dtype(dtype))
        with _registering:
            if name not in _targets:
                made = Target(kernel, np.dtype(dtype), minor)
                _targets[name] = made if made.register(name) else None
            return name if _targets[name] else None
    return None


def _name(kernel: Kernel, dtype: np.dtype[Any]) -> str:
    bound = b'' if kernel.bound is None else kernel.bound.tobytes()
    content = kernel.trace.origin or llvm_ir(kernel.trace)
    return f'dynamics_ros_{disk_cache.key(content, bound.hex(), dtype.name)[:32]}'


@lru_cache(maxsize=1)
def _minor_version() -> int | None:
    """Minor version of XLA's interface; None with a log message if it is not supported."""
    try:
        if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != 'little':
            raise RuntimeError('this processor lays out structures in another way')
        compiler.platform()
        import jax.ffi

        header = Path(jax.ffi.include_dir(), 'xla', 'ffi', 'api', 'c_api.h').read_text()
        major, minor = (
            int(re.findall(rf'#define XLA_FFI_API_{x} (\d+)', header)[0])
            for x in ('MAJOR', 'MINOR')
        )
        if major != xla_handler.MAJOR:
            raise RuntimeError(f"version {major} of XLA's interface is unknown")
    except (CompilerUnavailableError, ImportError, LookupError, OSError, RuntimeError) as reason:
        _log.warning('XLA calls kernels through Python, which is slower: %s', reason)
        return None
    return minor


class Target:
    """Data of one XLA handler, which must exist as long as the process."""

    def __init__(self, kernel: Kernel, dtype: np.dtype[Any], minor: int) -> None:
        self._kernel = kernel
        self._dtype = dtype
        self._compute = kernel if dtype == np.float64 else kernel.float32
        self._inputs = [x.shape for x in kernel.trace.arguments]
        self._outputs = [x.shape for x in kernel.trace.outputs]
        sizes = [[math.prod(x) for x in shapes] for shapes in (self._inputs, self._outputs)]
        numbers = xla_handler.table(minor, *sizes)
        self._table = (ctypes.c_int64 * len(numbers))(*numbers)
        self._answers = threading.local()
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
        self._slow_path = prototype(self._computed_here)
        address = ctypes.cast(self._slow_path, ctypes.c_void_p).value
        self._table[xla_handler.SLOW_PATH] = address or 0
        self._table[xla_handler.BYTES] = dtype.itemsize
        self._bound = None if kernel.bound is None else kernel.bound.astype(dtype)
        if self._bound is not None:
            self._table[xla_handler.BOUND] = self._bound.ctypes.data
        # In single precision there is only batch code, which can also process a single state.
        self._table[xla_handler.THRESHOLD] = BATCH_STATES if dtype == np.float64 else 0
        self._use_machine_code(1)

    def register(self, name: str) -> bool:
        """Register the handler with XLA; return whether that has succeeded."""
        import jax

        ir = xla_handler.emit(compiler.platform().dialect)
        symbols = {xla_handler.TABLE: ctypes.addressof(self._table)}
        try:
            self._code = compiler.compile_module(ir, ['handler'], symbols=symbols)
            capsule = jax.ffi.pycapsule(ctypes.c_void_p(self._code.address('handler')))
            jax.ffi.register_ffi_target(name, capsule, platform='cpu')
        except Exception as reason:  # the exceptions of XLA are not documented
            _log.warning('XLA calls %s through Python: %s', self._kernel.name, reason)
            return False
        return True

    def _use_machine_code(self, states: int) -> None:
        """Store addresses of compiled code in the table, and request compilation of batch code."""
        runner = self._kernel.runner
        if not isinstance(runner, LlvmBackend):
            return
        batch = runner.batch_code(self._dtype)
        self._table[xla_handler.SCRATCH] = batch.scratch_bytes
        if states >= self._table[xla_handler.THRESHOLD]:
            batch.request()
        self._table[xla_handler.MANY] = batch.address
        if self._dtype == np.float64:
            self._table[xla_handler.ONE_BY_ONE] = runner.code.address('batch')

    def _computed_here(self, states: int, addresses: int) -> int:
        """Compute the results through Python; return 0, or the address of an error message."""
        try:
            inputs, outputs = len(self._inputs), len(self._outputs)
            hidden = 0 if self._bound is None else 1
            places = (ctypes.c_void_p * (inputs + hidden + outputs)).from_address(addresses)
            at = [*places[:inputs], *places[inputs + hidden :]]
            arrays = [
                self._array(x, states, shape)
                for x, shape in zip(at, [*self._inputs, *self._outputs], strict=True)
            ]
            given, results = arrays[:inputs], arrays[inputs:]
            self._compute(*given, out=results[0] if len(results) == 1 else tuple(results))
            self._use_machine_code(states)
        except BaseException as error:  # exceptions must not propagate through machine code
            message = f'{self._kernel.name}: {error}'.encode(errors='replace')
            self._answers.message = ctypes.create_string_buffer(message)
            return ctypes.addressof(self._answers.message)
        return 0

    def _array(self, address: int | None, states: int, shape: tuple[int, ...]) -> Any:
        count = states * math.prod(shape)
        if not count or address is None:
            return np.empty((states, *shape), self._dtype)
        numbers = memoryview((ctypes.c_char * (count * self._dtype.itemsize)).from_address(address))
        return np.frombuffer(numbers, self._dtype).reshape(states, *shape)
